#include "replayer/media/memory/memory.h"

#include <array>

#include "powercut/target.h"
#include "replayer/media/media.h"
#include "replayer/media/pool_calls.h"

namespace powercut {

std::vector<std::string> MemoryRules::assumptions(std::string_view atoms, bool store_buffers) const {
  return {
      atoms == "any"
          ? "aligned 8-byte pieces of a store persist whole, in any order; mem* calls are cut where their moves begin"
      : atoms == "ascending"
          ? "aligned 8-byte pieces of a store persist whole, from low to high addresses (assumes ascending)"
          : "bytes of mem* calls persist in any order; 8-byte pieces of other stores whole, in any order",
      "a line is written back whole",
      "wide vector stores persist as whole words, by custom of processors",
      store_buffers ? "visibility is that of x86-TSO; flushes leave a store buffer in their order"
                    : "visibility is sequentially consistent",
  };
}

const Medium& memory_medium() {
  static const std::array<const Persistency*, 2> models = {&adr(), &eadr()};
  static const Medium medium = {.name = "memory",
                                .called = "memory",
                                .kind = POWERCUT_MEMORY,
                                .models = models,
                                .takes = [](const PoolFile& file) { return !file.device.has_value(); },
                                .calls = make_memory_calls,
                                .images = &memory_images()};
  return medium;
}

}  // namespace powercut

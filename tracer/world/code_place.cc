#include "tracer/world/code_place.h"

#include <array>

#include "tracer/runtime/hooks.h"

namespace powercut {

std::vector<uint64_t> CodePlace::stack() const {
  std::array<uint64_t, 24> out;
  const uint32_t count = powercut_stack(pc, frame, out.data(), out.size());
  return {out.begin(), out.begin() + count};
}

}  // namespace powercut

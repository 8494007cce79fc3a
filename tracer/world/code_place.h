// Where target code stood when it called a hook.
#ifndef POWERCUT_TRACER_WORLD_CODE_PLACE_H_
#define POWERCUT_TRACER_WORLD_CODE_PLACE_H_

#include <cstdint>
#include <vector>

namespace powercut {

// A return address and the frame that it returns into.
struct CodePlace {
  const void* pc = nullptr;
  const void* frame = nullptr;
  // Return addresses, innermost first; at most 24. Allocates.
  std::vector<uint64_t> stack() const;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_CODE_PLACE_H_

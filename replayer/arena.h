// The heap of target code: a bump allocator at a fixed address, dropped as a whole.
// While `arena_active` is set, the process's malloc family (interposed in arena.cc) serves from here, so that
// everything that target code and the libraries under it allocate vanishes with the execution.
#ifndef POWERCUT_REPLAYER_ARENA_H_
#define POWERCUT_REPLAYER_ARENA_H_

#include <cstddef>
#include <cstdint>

namespace powercut {

struct Arena {
  uint64_t begin = 0, end = 0;
  uint64_t top = 0;   // next free byte
  uint64_t high = 0;  // bytes below were handed out at some time and are scrubbed when dropped
};

// One per process, since malloc is. Zero-initialised; set up by the Executor.
extern Arena arena;
extern bool arena_active;

// Drops everything allocated since `top`; its bytes read as zero again.
void arena_drop_to(uint64_t top);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_ARENA_H_

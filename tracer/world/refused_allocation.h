// A failing allocation: of the target's malloc family (arena.cc asks) or of the shared pool allocator
// (targets/common/pool_allocator.h asks). Allocations are numbered together, in the order of the calls.
#ifndef POWERCUT_TRACER_WORLD_REFUSED_ALLOCATION_H_
#define POWERCUT_TRACER_WORLD_REFUSED_ALLOCATION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tracer/world/memory_range.h"

namespace powercut {

struct AllocationFault {
  uint64_t count = 0;    // allocations so far
  uint64_t fail_at = 0;  // the number, from 1, of the one that fails; 0: none
  // Of the one that failed:
  bool failed = false;
  bool of_pool = false;  // of the pool, or of memory
  uint64_t size = 0;     // bytes
  const void* pc = nullptr;
  std::array<uint64_t, 48> above = {};  // the words on the stack above the allocation function's frame

  // Return addresses, innermost first. Frames between the allocation function and the target (operator new) keep no
  // frame pointers. The first word on the stack that lies in `code` is taken for the target's own place.
  std::vector<uint64_t> stack(const std::vector<MemoryRange>& code) const;
};

// One per process, since malloc is.
extern AllocationFault allocation_fault;

// Counts an allocation; true when it is to fail. `pc` and `frame`: of the caller of the allocation function.
bool allocation_fails(uint64_t size, bool of_pool, const void* pc, const void* frame);

}  // namespace powercut

// Asked by the shared pool allocator, which knows it as a weak symbol.
extern "C" int powercut_refuse_allocation(uint64_t bytes);
#endif  // POWERCUT_TRACER_WORLD_REFUSED_ALLOCATION_H_

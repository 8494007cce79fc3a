// A range of addresses, and the size of a page.
#ifndef POWERCUT_TRACER_WORLD_MEMORY_RANGE_H_
#define POWERCUT_TRACER_WORLD_MEMORY_RANGE_H_

#include <cstdint>

namespace powercut {

inline constexpr uint64_t kPageSize = 4096;

// Half-open.
struct MemoryRange {
  uint64_t begin = 0, end = 0;
  bool holds(uint64_t address, uint64_t size) const {
    return address >= begin && address + size <= end && address + size >= address;
  }
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_MEMORY_RANGE_H_

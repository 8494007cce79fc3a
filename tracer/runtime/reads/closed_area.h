// The place of the pools in a run that reports its reads, and the end of a run that cannot be followed: all that the
// other parts of the room ask of followed_pools.cc.
#ifndef POWERCUT_TRACER_RUNTIME_READS_CLOSED_AREA_H_
#define POWERCUT_TRACER_RUNTIME_READS_CLOSED_AREA_H_

#include <cstdint>

namespace powercut::runtime {

// The closed area, whole multiples of 4 GiB, because a system call's filter compares the upper halves of arguments.
struct ClosedArea {
  uint64_t begin = 0, end = 0;
  bool holds(uint64_t address) const { return address - begin < end - begin; }
};
const ClosedArea& closed_area();

// Ends the run, which cannot be followed; the run's log says why.
[[noreturn]] void refuse(const char* why);
[[noreturn]] void refuse(const char* why, const char* what);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_CLOSED_AREA_H_

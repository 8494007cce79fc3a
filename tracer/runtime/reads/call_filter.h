// The seccomp filter of a run's system calls (calls.h), as a program for the kernel.
#ifndef POWERCUT_TRACER_RUNTIME_READS_CALL_FILTER_H_
#define POWERCUT_TRACER_RUNTIME_READS_CALL_FILTER_H_

#include <cstdint>

namespace powercut::runtime {

// A call that reads no pool unless an argument points into the closed area; `arguments` is how many arguments are
// checked.
struct HarmlessCall {
  uint16_t number;
  uint8_t arguments;
};
// Writes the filter's program: these calls pass if no argument points into the closed area.
void write_filter(const HarmlessCall* calls, uint32_t count);
// Installs the filter for the process. Returns false if this kernel has no filters.
bool install_filter();
// Installs another filter, in the calling thread: these calls raise a signal as well. Returns false if the kernel takes
// no filter.
bool install_wait_filter(const uint16_t* calls, uint32_t count);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_CALL_FILTER_H_

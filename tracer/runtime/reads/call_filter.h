// The filter of calls.h, as a program for the kernel.
#ifndef POWERCUT_TRACER_RUNTIME_READS_CALL_FILTER_H_
#define POWERCUT_TRACER_RUNTIME_READS_CALL_FILTER_H_

#include <cstdint>

namespace powercut::runtime {

// A call that reads no pool unless an argument points there.
struct HarmlessCall {
  uint16_t number;
  uint8_t arguments;
};
void write_filter(const HarmlessCall* calls, uint32_t count);
// Puts the filter in. False: this kernel has none.
bool install_filter();
// One more, in the calling thread: these calls come as a signal as well. False: the kernel takes none.
bool install_wait_filter(const uint16_t* calls, uint32_t count);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_CALL_FILTER_H_

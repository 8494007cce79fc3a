// The system calls of a run that reports its reads: what they read of its pools is reported, what nobody knows of them
// ends the run.
//
// A filter in the kernel (seccomp) lets those pass that cannot read a pool: they are on a list, and none of their
// arguments points into the closed area. All others come as a signal, whoever makes them: the C library, this library,
// assembly. The handler makes the call itself, with the places of bytes for their closed addresses.
#ifndef POWERCUT_TRACER_RUNTIME_READS_CALLS_H_
#define POWERCUT_TRACER_RUNTIME_READS_CALLS_H_

#include <cstdint>

namespace powercut::runtime {

// In the run, last: from here on only the handler makes calls that are not on the list.
void see_calls();

// A call that reads no pool unless an argument points there.
struct HarmlessCall {
  uint16_t number;
  uint8_t arguments;
};
// Puts the filter in. False: this kernel has none.
bool filter_calls(const HarmlessCall* calls, uint32_t count);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_CALLS_H_

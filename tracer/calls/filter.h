// The filter for the kernel (seccomp) under which a recorded program runs: a call that may change files stops the
// thread for its tracer; every other call costs nothing. The filter holds for all that the program starts.
#ifndef POWERCUT_TRACER_CALLS_FILTER_H_
#define POWERCUT_TRACER_CALLS_FILTER_H_

#include <linux/filter.h>

#include <vector>

namespace powercut {

// Why a call stops: the message of its stop (PTRACE_GETEVENTMSG).
enum StopReason : unsigned short {
  kStopsAsCall = 1,     // a call on files
  kStopsAsForeign = 2,  // a call of 32-bit code, whose number says nothing
  kStopsAsRefused = 3,  // a call that nobody can follow and that an old kernel lacks
};

std::vector<sock_filter> calls_filter();
// Installs the filter in this process. Returns false with errno. Makes no allocation: for a child of fork().
bool install_filter(const std::vector<sock_filter>& filter);

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_FILTER_H_

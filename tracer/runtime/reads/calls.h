// Room reads: a recovery that reports what it reads of its pools.
//
// This file: the system calls of a run that reports its reads. Bytes that a known call reads of the pools are reported;
// a call that nobody knows ends the run.
//
// A filter in the kernel (seccomp) lets calls pass that cannot read a pool: they are on a list, and none of their
// arguments points into the closed area. All other calls raise a signal, whoever makes the call: the C library, this
// library, or assembly. The signal's handler makes the call itself, with the places of bytes for their closed
// addresses.
// assembly. The handler makes the call itself, with the places of bytes for their closed addresses.
#ifndef POWERCUT_TRACER_RUNTIME_READS_CALLS_H_
#define POWERCUT_TRACER_RUNTIME_READS_CALLS_H_

#include <signal.h>

namespace powercut::runtime {

// The signals by which a run's accesses and calls are seen. The program itself can use none of these signals.
inline constexpr int kOurSignals[] = {SIGSEGV, SIGTRAP, SIGSYS};

// Called in the server, before main: takes the signal of filtered calls, and installs the filter. The handler makes all
// calls unchanged until a run begins. Returns false if this kernel has no filters.
bool prepare_calls();
// Called last in the run's start: from here on the handler looks at the calls that are not on the list.
void see_calls();

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_CALLS_H_

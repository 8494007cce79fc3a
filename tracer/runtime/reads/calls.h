// Room reads: a recovery that reports what it reads of its pools.
//
// This file: the system calls of a run that reports its reads: what they read of its pools is reported, what nobody
// knows of them ends the run.
//
// A filter in the kernel (seccomp) lets those pass that cannot read a pool: they are on a list, and none of their
// arguments points into the closed area. All others come as a signal, whoever makes them: the C library, this library,
// assembly. The handler makes the call itself, with the places of bytes for their closed addresses.
#ifndef POWERCUT_TRACER_RUNTIME_READS_CALLS_H_
#define POWERCUT_TRACER_RUNTIME_READS_CALLS_H_

#include <signal.h>

namespace powercut::runtime {

// The signals by which a run's accesses and calls are seen. The program itself can have none of them.
inline constexpr int kOurSignals[] = {SIGSEGV, SIGTRAP, SIGSYS};

// In the server, before main: takes the signal of such calls, and puts the filter in. The handler makes all calls as
// they are until a run begins. False: this kernel has no filters.
bool prepare_calls();
// In the run, last: from here on the handler looks at the calls that are not on the list.
void see_calls();

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_CALLS_H_

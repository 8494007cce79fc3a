// Decoding of an instruction's accesses, in a library that is loaded only where reads are reported.
#ifndef POWERCUT_TRACER_RUNTIME_READS_DECODE_H_
#define POWERCUT_TRACER_RUNTIME_READS_DECODE_H_

#include <ucontext.h>

#include "tracer/runtime/instructions/trapped_access.h"

// Does what decode_access() of trapped_access.h does. Allocates nothing.
extern "C" void powercut_decode(const ucontext_t* context, powercut::TrappedAccess* access);
using powercut_decode_function = void(const ucontext_t*, powercut::TrappedAccess*);

#define POWERCUT_DECODE_LIBRARY "libpowercut_decode.so"  // beside libpowercut_rt.so

#endif  // POWERCUT_TRACER_RUNTIME_READS_DECODE_H_

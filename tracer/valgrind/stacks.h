/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call stacks of the program, each defined once in the stream. */
#ifndef POWERCUT_TRACER_VALGRIND_STACKS_H_
#define POWERCUT_TRACER_VALGRIND_STACKS_H_

#include "pub_tool_basics.h"
#include "tracer/stream/stream.h"

/* Return how many stacks and modules are defined, with the definitions of the tool that this one goes on for. */
UInt pc_stacks(void);
UInt pc_modules(void);

/* Returns the number of the stack of a thread that is stopped in a helper or a system call. Defines the stack if it is
 * new; returns 0 when the thread's place is not known. */
UInt pc_stack(powercut_stream* stream, ThreadId tid);

/* The code whose locked instruction a thread has just executed. */
typedef enum {
  kOfProgram,  /* of the program or of a library that is not the system's */
  kOfLock,     /* of a lock operation of the C library: programs may rely on its order */
  kIncidental, /* of the C or C++ library or the dynamic linker, for itself: no program may rely on it */
} LockedBy;
LockedBy pc_locked_by(ThreadId tid);

#endif

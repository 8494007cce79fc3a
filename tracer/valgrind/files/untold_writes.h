/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel has written for a system call of which Valgrind 3.19 does not tell that. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_UNTOLD_WRITES_H_
#define POWERCUT_TRACER_VALGRIND_FILES_UNTOLD_WRITES_H_

#include "pub_tool_basics.h"

/* After a call that was no error. */
void pc_untold_writes(ThreadId tid, UInt number, const UWord* args);

#endif

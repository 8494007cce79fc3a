/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Room files: pools and devices as files, and the system calls on them.
 *
 * This file: the effects of the program's system calls on its pools, and which other parts of the tool hear of each
 * call. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_CALLS_H_
#define POWERCUT_TRACER_VALGRIND_FILES_CALLS_H_

#include "pub_tool_basics.h"

void pc_pre_syscall(ThreadId tid, UInt number, UWord* args, UInt count);
void pc_post_syscall(ThreadId tid, UInt number, UWord* args, UInt count, SysRes result);

#endif

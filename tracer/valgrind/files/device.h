/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pool that is a block device: a file that the program writes by system calls (tracer/stream/STREAM.md, "Devices").
 * It is the only pool of a recording. What is not modelled is refused by its name: the run has no verdict then. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_DEVICE_H_
#define POWERCUT_TRACER_VALGRIND_FILES_DEVICE_H_

#include "pub_tool_basics.h"
#include "tracer/file_calls/file_calls.h"

/* A path of --device. False when there is one already. */
Bool pc_device_named(const HChar* path);
/* Whether the recording has one. */
Bool pc_has_device(void);
/* Defines it in the stream, with its contents. Once, before the program runs. */
void pc_device_begin(void);

void pc_device_pre_syscall(ThreadId tid, const powercut_file_call* call, UWord* args);
/* Also of calls that failed. */
void pc_device_post_syscall(ThreadId tid, const powercut_file_call* call, UWord* args, SysRes result);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pool that is a block device: a file that the program writes by system calls (tracer/stream/STREAM.md, "Devices").
 * The device is the only pool of its recording. Calls that are not modelled are refused by their names: the run has no
 * verdict then. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_DEVICE_H_
#define POWERCUT_TRACER_VALGRIND_FILES_DEVICE_H_

#include "pub_tool_basics.h"
#include "tracer/file_calls/file_calls.h"

/* Takes in a path of --device. Returns false when there is a device already. */
Bool pc_device_named(const HChar* path);
/* Returns whether the recording has a device. */
Bool pc_has_device(void);
/* Defines the device in the stream, with its contents. Called once, before the program runs. */
void pc_device_begin(void);

void pc_device_pre_syscall(ThreadId tid, const powercut_file_call* call, UWord* args);
/* Called also after calls that failed. */
void pc_device_post_syscall(ThreadId tid, const powercut_file_call* call, UWord* args, SysRes result);

#endif

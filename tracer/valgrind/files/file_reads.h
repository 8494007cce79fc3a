/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's reads of its pools' files by system calls, with --loads=yes. A call that may read a pool out of sight
 * is refused by its name, in a note: the bytes that it read are not known. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_FILE_READS_H_
#define POWERCUT_TRACER_VALGRIND_FILES_FILE_READS_H_

#include "pub_tool_basics.h"
#include "tracer/file_calls/file_calls.h"

void pc_reads_pre_syscall(ThreadId tid, UInt number, const UWord* args);
/* Called before the bytes that the call has written are recorded. Not called after calls that failed. */
void pc_reads_post_syscall(ThreadId tid, const powercut_file_call* known, const UWord* args, UWord value);

/* Returns whether this thread's call that has just ended has moved the position of `fd` by `length` bytes, and no other
 * thread moved it. The bytes that the call read or wrote then lie before the position. */
Bool pc_moved_alone(ThreadId tid, Int fd, ULong length);

/* Refuses code that lies in a pool, if `protection` is of a pool's mapping: such code is read unseen. */
void pc_refuse_code(UWord protection);

#endif

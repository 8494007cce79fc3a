/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program reads of its pools' files by system calls, with --loads=yes. Whatever may read a pool out of sight
 * is refused by its name, in a note: what was read is not known then. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_FILE_READS_H_
#define POWERCUT_TRACER_VALGRIND_FILES_FILE_READS_H_

#include "pub_tool_basics.h"
#include "tracer/file_calls/file_calls.h"

void pc_reads_pre_syscall(ThreadId tid, UInt number, const UWord* args);
/* Before what the call has written is recorded. Not of calls that failed. */
void pc_reads_post_syscall(ThreadId tid, const powercut_file_call* known, const UWord* args, UWord value);

/* Whether the call of this thread that has just ended has moved the position of `fd` by `length` bytes, and nobody else
 * has in the meantime: then what it read or wrote lies before the position. */
Bool pc_moved_alone(ThreadId tid, Int fd, ULong length);

/* Code that lies in a pool, if this is the protection of a mapping of one: it is read unseen. */
void pc_refuse_code(UWord protection);

#endif

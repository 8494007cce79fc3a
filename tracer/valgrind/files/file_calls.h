/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The meaning of the arguments of system calls on files, for pools and for devices. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_FILE_CALLS_H_
#define POWERCUT_TRACER_VALGRIND_FILES_FILE_CALLS_H_

#include "pub_tool_basics.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_vki.h"
#include "tracer/file_calls/file_calls.h"

/* Returns the descriptor that a call writes to; -1 for a call that writes to none. */
Int pc_written_to(const powercut_file_call* call, const UWord* args);
/* Returns the offset at which a call has written `length` bytes; -1: at the descriptor's position. */
Long pc_written_from(const powercut_file_call* call, const UWord* args, ULong length);
/* Returns the place in its file at which a call has just written `length` bytes: `offset`, or if `offset` is negative,
 * the bytes before the descriptor's position. With O_APPEND, or `append`, the place is the end, whatever the offset
 * says. */
Long pc_written_at(Int fd, Long offset, ULong length, Bool append);

/* Paths that a call gives to a file or takes from a file, each seen from an open folder. Other calls have none. */
typedef struct {
  Int folders[2];
  UWord paths[2];
  UInt count;
} FileNames;
FileNames pc_names_of(const powercut_file_call* call, const UWord* args);
/* Looks up the file at a path of the program's. Returns false when there is none. */
Bool pc_file_at(Int folder, UWord path, struct vg_stat* status);

#endif

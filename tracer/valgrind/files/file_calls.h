/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the arguments of system calls on files say, of pools and of devices. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_FILE_CALLS_H_
#define POWERCUT_TRACER_VALGRIND_FILES_FILE_CALLS_H_

#include "pub_tool_basics.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_vki.h"
#include "tracer/file_calls/file_calls.h"

/* The descriptor that a call writes to; -1 for one that writes to none. */
Int pc_written_to(const powercut_file_call* call, const UWord* args);
/* The offset at which a call has written `length` bytes, -1: at the descriptor's position. */
Long pc_written_from(const powercut_file_call* call, const UWord* args, ULong length);
/* Where in its file a call has just written `length` bytes: at `offset`, or behind where the descriptor stood if that
 * is negative. With O_APPEND, or `append`, it was the end, whatever the offset says. */
Long pc_written_at(Int fd, Long offset, ULong length, Bool append);

/* Paths that a call gives to a file or takes from it, each seen from an open folder. None for other calls. */
typedef struct {
  Int folders[2];
  UWord paths[2];
  UInt count;
} FileNames;
FileNames pc_names_of(const powercut_file_call* call, const UWord* args);
/* The file at a path of the program's. False when there is none. */
Bool pc_file_at(Int folder, UWord path, struct vg_stat* status);

#endif

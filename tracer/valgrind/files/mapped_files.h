/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores through shared mappings of any file, for the recorder of a folder's calls (tracer/calls/store_record.h). With
 * --stores there are no pools, no device and no stream, and children are told of as well. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_MAPPED_FILES_H_
#define POWERCUT_TRACER_VALGRIND_FILES_MAPPED_FILES_H_

#include "pub_tool_basics.h"

/* Takes in the path of --stores. */
void pc_stores_named(const HChar* path);
/* Returns whether stores to mapped files are told, and nothing else is. */
Bool pc_tells_stores(void);
/* Opens the file. On failure says what is wrong and ends the process. */
void pc_stores_begin(void);
/* The process is a child from now on. */
void pc_stores_in_child(void);
/* Writes what is not told yet. */
void pc_stores_flush(void);

void pc_stores_pre_syscall(ThreadId tid, UInt number);
void pc_stores_post_syscall(ThreadId tid, UInt number, UWord* args, SysRes result);

#endif

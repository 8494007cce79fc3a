/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pools as files: which files they are, and what they hold before the program runs.
 *
 * A file is a pool if its path was given, whatever name or link it is opened by: files are compared by device and
 * inode. A pool that does not exist yet is recognised once it does, and one that is replaced begins empty again. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_POOL_FILES_H_
#define POWERCUT_TRACER_VALGRIND_FILES_POOL_FILES_H_

#include "pub_tool_basics.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_vki.h"

/* A path of --pool. False when there are too many. */
Bool pc_pool_named(const HChar* path);
/* Whether the command line says what is recorded, so that the program's own word for it is not needed. */
Bool pc_pools_are_named(void);
/* Defines the named pools in the stream, with their contents. Once, before the program runs. */
void pc_pools_begin(void);

/* How many are defined. */
UInt pc_pool_count(void);
/* Empty: memory that is no file. */
const HChar* pc_pool_path(UInt pool);

/* A range that the program says is persistent. Nothing happens where it is known already. `always`: also a file that
 * no --pool names, where others were named. */
void pc_pool_registered(Addr address, ULong length, Bool always);

/* The pool that `fd` is open on, or -1. Brings its size up to date. */
Int pc_pool_of(ThreadId tid, Int fd);
/* Whether the file of this status is a pool, as far as known. */
Bool pc_is_pool(const struct vg_stat* status);

#endif

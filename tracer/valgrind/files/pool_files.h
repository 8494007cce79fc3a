/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pools as files: which files are pools, and what they hold before the program runs.
 *
 * A file is a pool if its path was given, whatever name or link the program opens it by: files are compared by device
 * and inode. A pool that does not exist yet is recognised once it exists. A pool that is replaced begins empty
 * again. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_POOL_FILES_H_
#define POWERCUT_TRACER_VALGRIND_FILES_POOL_FILES_H_

#include "pub_tool_basics.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_vki.h"

/* Takes in a path of --pool. Returns false when there are too many. */
Bool pc_pool_named(const HChar* path);
/* Returns whether the command line names the pools, so that the program's own word for them is not needed. */
Bool pc_pools_are_named(void);
/* Defines the named pools in the stream, with their contents. Called once, before the program runs. */
void pc_pools_begin(void);

/* Returns how many pools are defined. */
UInt pc_pool_count(void);
/* Returns the path of a pool. Empty: the pool is memory that is no file. */
const HChar* pc_pool_path(UInt pool);

/* Takes in a range that the program says is persistent. Nothing happens if the range is known already. `always`: the
 * range counts also if its file is none that --pool names. */
void pc_pool_registered(Addr address, ULong length, Bool always);

/* Returns the pool that `fd` is open on, or -1. Brings the pool's size up to date. */
Int pc_pool_of(ThreadId tid, Int fd);
/* Returns whether the file of this status is a pool, as far as known. */
Bool pc_is_pool(const struct vg_stat* status);

#endif

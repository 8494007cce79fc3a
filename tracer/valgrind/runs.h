/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that serves runs by fork (checker/subjects/program/forkserver): each run is a child with a stream of its
 * own, which takes the place of the last one's. What a run has translated is translated by the server before the next
 * fork. */
#ifndef POWERCUT_TRACER_VALGRIND_RUNS_H_
#define POWERCUT_TRACER_VALGRIND_RUNS_H_

#include "pub_tool_basics.h"

/* Where streams go. */
extern const HChar* pc_stream_path;

/* The program's children are runs from now on, and it records nothing itself. False where they cannot be: something was
 * done to a pool already, which would be missing in their streams, or more than reads is recorded. */
Bool pc_serve(void);
Bool pc_serving(void);
/* In such a child: its run begins. */
void pc_begin_run(void);
/* The run is over. */
void pc_end_run(void);

/* Code at this address is translated. */
void pc_translated(Addr address);
/* Before a fork: what the last run has translated, as far as it was there before the run. */
void pc_before_fork(ThreadId tid);

#endif

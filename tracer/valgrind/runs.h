/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that serves runs by fork (checker/subjects/program/forkserver): each run is a child with a stream of its
 * own, which takes the place of the last run's stream. The server translates the code that a run has translated before
 * the next fork. */
#ifndef POWERCUT_TRACER_VALGRIND_RUNS_H_
#define POWERCUT_TRACER_VALGRIND_RUNS_H_

#include "pub_tool_basics.h"

/* The path of each run's stream. */
extern const HChar* pc_stream_path;

/* From now on the program's children are runs, and the program itself records nothing. Returns false where they cannot
 * be runs: something was done to a pool already, which would be missing in their streams, or more than reads is
 * recorded. */
Bool pc_serve(void);
Bool pc_serving(void);
/* Called in a child that is a run: the run begins. */
void pc_begin_run(void);
/* The run is over. */
void pc_end_run(void);

/* Notes that the code at this address is translated. */
void pc_translated(Addr address);
/* Called before a fork: translates the code that the last run has translated, as far as that code was there before the
 * run. */
void pc_before_fork(ThreadId tid);

#endif

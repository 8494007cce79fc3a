/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that replaces itself is followed: the tool that runs the new one goes on with the stream. It gets the open
 * file, and what was defined in it, by the option --resume, which only the tool itself gives. */
#ifndef POWERCUT_TRACER_VALGRIND_EXEC_H_
#define POWERCUT_TRACER_VALGRIND_EXEC_H_

#include "pub_tool_basics.h"

/* Where the tool before this one has stopped. */
typedef struct {
  Int fd;                      /* of the stream; -1: this is the first one */
  UInt pools, modules, stacks; /* that are defined */
  UInt threads;                /* that have begun */
  Int thread;                  /* the number of the one that goes on; -1: it has none */
} Resumed;
extern Resumed pc_resumed;

/* Reads the value of --resume. False when it is none. */
Bool pc_resume_option(const HChar* value);

void pc_before_exec(ThreadId tid);
void pc_exec_failed(void);

#endif

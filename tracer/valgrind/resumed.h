/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a tool that goes on with the stream of another one gets from it, by the option --resume (exec.h). */
#ifndef POWERCUT_TRACER_VALGRIND_RESUMED_H_
#define POWERCUT_TRACER_VALGRIND_RESUMED_H_

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

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state that a tool takes over, by the option --resume (exec.h), when it goes on with the stream of another
 * tool. */
#ifndef POWERCUT_TRACER_VALGRIND_RESUMED_H_
#define POWERCUT_TRACER_VALGRIND_RESUMED_H_

#include "pub_tool_basics.h"

/* Where the tool before this one has stopped. */
typedef struct {
  Int fd;                      /* descriptor of the stream; -1: this is the first tool */
  UInt pools, modules, stacks; /* how many are defined */
  UInt threads;                /* how many have begun */
  Int thread;                  /* number of the thread that goes on; -1: it has none */
} Resumed;
extern Resumed pc_resumed;

/* Reads the value of --resume. Returns false when the text is no such value. */
Bool pc_resume_option(const HChar* value);

#endif

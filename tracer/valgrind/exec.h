/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that replaces itself is followed: the tool that runs the new one goes on with the stream. It gets the open
 * file, and what was defined in it, by the option --resume, which only the tool itself gives. */
#ifndef POWERCUT_TRACER_VALGRIND_EXEC_H_
#define POWERCUT_TRACER_VALGRIND_EXEC_H_

#include "pub_tool_basics.h"

void pc_before_exec(ThreadId tid);

#endif

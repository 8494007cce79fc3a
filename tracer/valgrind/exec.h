/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that replaces itself is followed: the tool that runs the new program goes on with the stream. The new tool
 * gets the open file, and a list of the stream's definitions, by the option --resume, which only the tool itself
 * gives. */
#ifndef POWERCUT_TRACER_VALGRIND_EXEC_H_
#define POWERCUT_TRACER_VALGRIND_EXEC_H_

#include "pub_tool_basics.h"

void pc_before_exec(ThreadId tid);

#endif

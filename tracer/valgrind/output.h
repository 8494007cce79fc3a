/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that are the program's standard output and error, while its output is looked at for acknowledgements. The
 * sizes of the files say what had left the program. */
#ifndef POWERCUT_TRACER_VALGRIND_OUTPUT_H_
#define POWERCUT_TRACER_VALGRIND_OUTPUT_H_

#include "pub_tool_basics.h"
#include "tracer/stream/stream.h"

/* Takes in a folder of --output. */
void pc_output_named(const HChar* folder);
/* Called before each event: output that has left the program by now came before the event. Does nothing without a
 * folder. */
void pc_output_look(powercut_stream* stream);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that the kernel has written for a system call of which Valgrind 3.19 does not tell the written bytes. */
#ifndef POWERCUT_TRACER_VALGRIND_FILES_UNTOLD_WRITES_H_
#define POWERCUT_TRACER_VALGRIND_FILES_UNTOLD_WRITES_H_

#include "pub_tool_basics.h"

/* Called after a call that succeeded. */
void pc_untold_writes(ThreadId tid, UInt number, const UWord* args);

#endif

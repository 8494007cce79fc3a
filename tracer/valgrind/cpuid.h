/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Valgrind's processor has neither clwb nor clflushopt. Programs that choose at run time would take clflush, whose
 * stronger order hides missing fences. The tool therefore shows both instructions in CPUID leaf 7. */
#ifndef POWERCUT_TRACER_VALGRIND_CPUID_H_
#define POWERCUT_TRACER_VALGRIND_CPUID_H_

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

Bool pc_is_cpuid(const IRDirty* dirty);
/* Adds the call of the CPUID instruction itself and a call that completes its answer. */
void pc_add_cpuid(IRSB* out, IRStmt* statement);

#endif

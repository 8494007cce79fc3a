/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of Valgrind's core that its tool headers do not declare. They are in the core's static library. */
#ifndef POWERCUT_TRACER_VALGRIND_CORE_H_
#define POWERCUT_TRACER_VALGRIND_CORE_H_

#include "pub_tool_basics.h"
#include "pub_tool_xarray.h"

/* Moves a descriptor to the range that is Valgrind's own and closes the descriptor on exec. */
Int VG_(safe_fd)(Int oldfd);
Int VG_(fcntl)(Int fd, Int command, Addr argument);
/* Writes the path of an open descriptor to a buffer that the next call overwrites. */
Bool VG_(resolve_filename)(Int fd, const HChar** path);
/* The first translates the code at `address`; the second returns whether the code is translated. */
Bool VG_(translate)(ThreadId tid, Addr address, Bool debugging, Int verbosity, ULong blocks_done, Bool redirect);
Bool VG_(search_transtab)(Addr* host, void* sector, void* entry, Addr address, Bool update_cache);
/* Whether a program that replaces this one runs under the tool, too, and the options that the tool is then given: an
 * array of texts. */
extern Bool VG_(clo_trace_children);
extern XArray* VG_(args_for_valgrind);
/* Tells which range a stack has; returns the stack's number. */
UWord VG_(register_stack)(Addr start, Addr end);
void VG_(deregister_stack)(UWord number);
/* Whether undecodable instructions are reported on standard error when they are translated. */
extern Bool VG_(clo_sigill_diag);

#endif

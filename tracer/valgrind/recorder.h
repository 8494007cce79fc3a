/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What instrumented code and the tool's other parts tell of: turned into records of the stream, with thread numbers and
 * call stacks. Valgrind runs one thread at a time, so that the order of calls is the order of the program. */
#ifndef POWERCUT_TRACER_VALGRIND_RECORDER_H_
#define POWERCUT_TRACER_VALGRIND_RECORDER_H_

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"
#include "tracer/stream/pools.h"
#include "tracer/stream/stream.h"

/* What is read is recorded as well, and neither what pools held before nor call stacks. Set before anything is
 * translated. */
extern Bool pc_loads;
extern Bool pc_store_stacks; /* although loads are recorded */

/* Addresses at which an access of up to 64 bytes may touch a pool: what instrumented code tests inline. */
typedef struct {
  ULong low, span;
} Window;
extern Window pc_window;
/* Not 0: some thread flushed or stored since its last fence. A locked instruction matters then wherever it stores. */
extern ULong pc_unfenced;

/* Opens the stream, or goes on with that of --resume; says what is wrong and ends the process if it cannot. */
void pc_recorder_open(const HChar* path);
/* The program says goodbye with `status`. Without that it is a signal that ends it. */
void pc_recorder_status(Int status);
/* Writes the last record and closes. */
void pc_recorder_close(void);
/* In a forked child: nothing is recorded any more, and the parent's file is left alone. */
void pc_recorder_abandon(void);
Bool pc_recording(void);
/* The stream's file; and of its threads how many have begun, and the number of one, -1 if it has none yet. */
Int pc_recorder_fd(void);
void pc_recorder_closes_on_exec(Bool closes);
UInt pc_threads(void);
Int pc_thread_number(ThreadId tid);
/* Whether the stream has nothing but what pc_recorder_begun() found in it. */
Bool pc_recorder_untouched(void);
/* Pools are defined. */
void pc_recorder_begun(void);

/* For records that have no place here. */
powercut_stream* pc_stream(void);
powercut_ranges* pc_ranges(void);
/* Where the running thread is. */
powercut_site pc_site(ThreadId tid);

void pc_map(UInt pool, Addr address, ULong length, ULong offset);
/* A private mapping: its loads read the file, its stores do not reach it. Only with pc_loads. */
void pc_view(UInt pool, Addr address, ULong length, ULong offset);
powercut_ranges* pc_views(void);
/* `kind`: a powercut_stream_leave. What is disowned still has the pool's bytes: with pc_loads it becomes a view. */
void pc_unmap(UInt kind, Addr address, ULong length);
/* Nothing that follows concerns persistent memory, until something is mapped again. */
void pc_pools_end(void);

/* Called by instrumented code after a store, which may lie partly or wholly outside of the pools. With
 * kPowercutStoreContinues it is a further piece of the instruction's store, if an earlier one was recorded; with
 * kLastPiece no other follows. */
enum { kLastPiece = 1 << 15 };
void pc_store(Addr address, ULong size, ULong flags);
/* Before an instruction that may store several pieces. */
void pc_pieces(void);
void pc_load(Addr address, ULong size);
/* How many stores to pools there were, those to their files among them. */
ULong pc_stored(void);
void pc_file_stored(void);
void pc_flush(Addr address, ULong kind);
void pc_fence(ULong kind);
/* After a locked read-modify-write: a fence, then the store if there was one. */
void pc_rmw(Addr address, ULong size, ULong stored);

/* Client requests in place of instructions. One that annotates an instruction adds nothing to it. */
void pc_annotated_flush(ThreadId tid, Addr address, ULong size);
void pc_annotated_fence(ThreadId tid);

/* Memory that a system call has written or will read. */
void pc_kernel_write(CorePart part, ThreadId tid, Addr address, SizeT size);
void pc_kernel_read(CorePart part, ThreadId tid, const HChar* what, Addr address, SizeT size);

void pc_thread_created(ThreadId parent, ThreadId tid);
void pc_thread_exits(ThreadId tid);

#endif

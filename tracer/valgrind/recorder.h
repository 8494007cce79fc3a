/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the calls of instrumented code and of the tool's other parts into records of the stream, with thread numbers
 * and call stacks. Valgrind runs one thread at a time, so that the order of calls is the order of the program. */
#ifndef POWERCUT_TRACER_VALGRIND_RECORDER_H_
#define POWERCUT_TRACER_VALGRIND_RECORDER_H_

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"
#include "tracer/stream/pools.h"
#include "tracer/stream/stream.h"

/* Loads are recorded as well; the pools' first contents and call stacks are not. Set before anything is translated. */
extern Bool pc_loads;
extern Bool pc_store_stacks; /* call stacks of stores, although loads are recorded */

/* Addresses at which an access of up to 64 bytes may touch a pool; instrumented code tests the window inline. */
typedef struct {
  ULong low, span;
} Window;
extern Window pc_window;
/* Not 0: some thread flushed or stored since its last fence, so a locked instruction matters wherever it stores. */
extern ULong pc_unfenced;

/* Not null: stores to mapped files are told by this function, and nothing is recorded. Parts of the store outside of
 * such mappings are passed over. */
extern void (*pc_tell_store)(ThreadId tid, Addr address, ULong size);

/* Opens the stream, or goes on with the stream of --resume. On failure says what is wrong and ends the process. */
void pc_recorder_open(const HChar* path);
/* The program ends with `status`. A program that ends without this call is ended by a signal. */
void pc_recorder_status(Int status);
/* Writes the last record and closes the stream. */
void pc_recorder_close(void);
/* Called in a forked child: nothing is recorded any more, and the parent's file is left alone. */
void pc_recorder_abandon(void);
Bool pc_recording(void);
/* The descriptor of the stream's file; the number of threads that have begun; and the number of a thread, -1 if it has
 * none yet. */
Int pc_recorder_fd(void);
void pc_recorder_closes_on_exec(Bool closes);
UInt pc_threads(void);
Int pc_thread_number(ThreadId tid);
/* Returns whether nothing was added to the stream since pc_recorder_begun(). */
Bool pc_recorder_untouched(void);
/* Called when the pools are defined. */
void pc_recorder_begun(void);

/* For records that have no function here. */
powercut_stream* pc_stream(void);
powercut_ranges* pc_ranges(void);
/* Returns where the running thread is. */
powercut_site pc_site(ThreadId tid);

void pc_map(UInt pool, Addr address, ULong length, ULong offset);
/* A private mapping: its loads read the file, its stores do not reach the file. Only with pc_loads. */
void pc_view(UInt pool, Addr address, ULong length, ULong offset);
powercut_ranges* pc_views(void);
/* `kind`: a powercut_stream_leave. Disowned memory still has the pool's bytes: with pc_loads it becomes a view. */
void pc_unmap(UInt kind, Addr address, ULong length);
/* Nothing that follows concerns persistent memory, until something is mapped again. */
void pc_pools_end(void);

/* Called by instrumented code after a store, which may lie partly or wholly outside of the pools. With
 * kPowercutStoreContinues the store is a further piece of the instruction's store, if an earlier piece was recorded;
 * with kLastPiece no other piece follows. */
enum { kLastPiece = 1 << 15 };
void pc_store(Addr address, ULong size, ULong flags);
/* Called before an instruction that may store several pieces. */
void pc_pieces(void);
void pc_load(Addr address, ULong size);
/* Returns how many stores to pools there were, stores to their files included. */
ULong pc_stored(void);
void pc_file_stored(void);
void pc_flush(Addr address, ULong kind);
void pc_fence(ULong kind);
/* Called after a locked read-modify-write: records a fence, then the store if there was one. */
void pc_rmw(Addr address, ULong size, ULong stored);

/* Client requests in place of instructions. A request that annotates an instruction adds nothing to it. */
void pc_annotated_flush(ThreadId tid, Addr address, ULong size);
void pc_annotated_fence(ThreadId tid);

/* Memory that a system call has written or will read. */
void pc_kernel_write(CorePart part, ThreadId tid, Addr address, SizeT size);
void pc_kernel_read(CorePart part, ThreadId tid, const HChar* what, Addr address, SizeT size);

void pc_thread_created(ThreadId parent, ThreadId tid);
void pc_thread_exits(ThreadId tid);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/recorder.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "tracer/valgrind/core.h"
#include "tracer/valgrind/output.h"
#include "tracer/valgrind/resumed.h"
#include "tracer/valgrind/stacks.h"

enum { kLine = 64, kBuffer = 1 << 20, kRecent = 1 << 16, kTold = 1 << 14 };

Bool pc_loads, pc_store_stacks;
Window pc_window;
ULong pc_unfenced;
void (*pc_tell_store)(ThreadId tid, Addr address, ULong size);

static powercut_ranges ranges, views;
static ULong stored;
static powercut_stream stream;
static UChar buffer[kBuffer];
static size_t begun; /* `used` of the stream when the pools were defined */
static Int stream_fd = -1;
static Bool exited;
static Int exit_status; /* 0 without an exit: the core does not say which signal it was */

/* The last event of a thread, so that an annotation and the instruction beside it are one event. */
typedef enum { kDidOther, kDidFence, kDidAnnotatedFence } Did;

typedef struct {
  Bool numbered; /* the thread has appeared in the stream */
  UInt number;
  Bool unfenced; /* the thread flushed or stored since its last fence */
  Bool pieces;   /* the instruction at hand has a piece of its store in the stream */
  Bool rounds;   /* the last store was a round of a string instruction, and not its last one */
  Did did;
} Thread;

static Thread* threads; /* by ThreadId */
static UInt thread_count;

/* The last event of a line, in a table that forgets: an annotation of a forgotten line is believed. */
typedef enum { kStored = 1, kStreamed, kFlushed, kAnnotated } LineState;
static struct {
  Addr line;
  UChar state;
  ThreadId tid;
} recent[kRecent];

static Int write_out(void* context, const void* bytes, size_t size) {
  const UChar* from = bytes;
  while (size != 0) {
    const Int done = VG_(write)(stream_fd, from, (Int)size);
    if (done <= 0) {
      VG_(umsg)("powercut: cannot write the stream. Free some space and record again.\n");
      return -1;
    }
    from += done;
    size -= (SizeT)done;
  }
  return 0;
}

Int pc_recorder_fd(void) { return stream_fd; }
void pc_recorder_closes_on_exec(Bool closes) { VG_(fcntl)(stream_fd, VKI_F_SETFD, closes ? VKI_FD_CLOEXEC : 0); }
UInt pc_threads(void) { return thread_count; }
Int pc_thread_number(ThreadId tid) { return threads[tid].numbered ? (Int)threads[tid].number : -1; }

/* Nothing is mapped in a new program; its first thread is the thread that went on. */
static void resume(void) {
  const ThreadId first = 1;
  stream_fd = pc_resumed.fd;
  pc_recorder_closes_on_exec(True); /* the descriptor is for this tool alone again */
  thread_count = pc_resumed.threads;
  threads[first].numbered = pc_resumed.thread >= 0;
  threads[first].number = (UInt)pc_resumed.thread;
  powercut_stream_unmap(&stream, kPowercutGone, 0, ~0ull);
}

void pc_recorder_open(const HChar* path) {
  threads = VG_(calloc)("powercut.threads", VG_N_THREADS, sizeof(Thread));
  stream.write = write_out;
  stream.buffer = buffer;
  stream.capacity = sizeof buffer;
  if (pc_resumed.fd >= 0) return resume();
  const SysRes file = VG_(open)(path, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_TRUNC, 0600);
  if (sr_isError(file)) {
    VG_(fmsg)("powercut: cannot write %s (error %lu). Name another file with --stream.\n", path, sr_Err(file));
    VG_(exit)(1);
  }
  /* The descriptor moves out of the way of the program's own descriptors. */
  stream_fd = VG_(safe_fd)((Int)sr_Res(file));
  powercut_stream_begin(&stream);
}

Bool pc_recording(void) { return stream_fd >= 0; }

void pc_recorder_begun(void) { begun = stream.used; }

Bool pc_recorder_untouched(void) { return stream.used == begun; }

void pc_recorder_status(Int status) {
  exited = True;
  exit_status = status & 0xFF;
}

void pc_recorder_close(void) {
  if (!pc_recording()) return;
  pc_output_look(&stream);
  powercut_stream_end(&stream, exited ? kPowercutExited : kPowercutSignalled, (UInt)exit_status);
  VG_(close)(stream_fd);
  stream_fd = -1;
}

void pc_recorder_abandon(void) {
  if (!pc_recording()) return;
  VG_(close)(stream_fd);
  stream_fd = -1;
  stream.used = 0;
  pc_window.low = pc_window.span = 0;
  pc_unfenced = 0;
  powercut_ranges_unmap(&ranges, 0, ~0ull);
  powercut_ranges_unmap(&views, 0, ~0ull);
}

powercut_stream* pc_stream(void) { return &stream; }
powercut_ranges* pc_ranges(void) { return &ranges; }
powercut_ranges* pc_views(void) { return &views; }
ULong pc_stored(void) { return stored; }
void pc_file_stored(void) { ++stored; }

static UInt number_of(ThreadId tid) {
  Thread* thread = &threads[tid];
  if (!thread->numbered) {
    thread->numbered = True;
    thread->number = thread_count++;
    const powercut_site site = {thread->number, 0};
    powercut_stream_plain(&stream, kPowercutThreadStart, site);
  }
  return thread->number;
}

powercut_site pc_site(ThreadId tid) {
  pc_output_look(&stream);
  const UInt number = number_of(tid);
  const powercut_site site = {number, pc_loads && !pc_store_stacks ? 0 : pc_stack(&stream, tid)};
  return site;
}

void pc_thread_created(ThreadId parent, ThreadId tid) {
  /* The first thread has no parent, and may go on for a thread of the program before. */
  if (threads != NULL && parent != VG_INVALID_THREADID) VG_(memset)(&threads[tid], 0, sizeof(Thread));
}

static void set_unfenced(ThreadId tid, Bool unfenced) {
  if (threads[tid].unfenced == unfenced) return;
  threads[tid].unfenced = unfenced;
  pc_unfenced += unfenced ? 1 : -1;
}

void pc_thread_exits(ThreadId tid) {
  if (!pc_recording()) return;
  set_unfenced(tid, False);
  if (!threads[tid].numbered) return;
  const powercut_site site = {threads[tid].number, 0};
  powercut_stream_plain(&stream, kPowercutThreadEnd, site);
}

static void too_many(const powercut_ranges* table) {
  /* A full table forgets the mappings behind the next hole in it. */
  static Bool told = False;
  if (table->count < kPowercutMostRanges || told) return;
  told = True;
  powercut_stream_note(&stream, kPowercutNoteOther, "4096 or more mappings of pools: some may not have been recorded");
}

static void update_window(void) {
  const powercut_ranges* tables[] = {&ranges, &views};
  ULong low = ~0ull, end = 0;
  for (UInt i = 0; i < 2; ++i) {
    if (tables[i]->span == 0) continue;
    if (tables[i]->low < low) low = tables[i]->low;
    if (tables[i]->low + tables[i]->span > end) end = tables[i]->low + tables[i]->span;
    too_many(tables[i]);
  }
  pc_window.low = end == 0 ? 0 : low - (kLine - 1);
  pc_window.span = end == 0 ? 0 : end - pc_window.low;
}

void pc_map(UInt pool, Addr address, ULong length, ULong offset) {
  powercut_ranges_unmap(&views, address, length);
  if (powercut_ranges_map(&ranges, address, length, pool, offset) == 0) {
    powercut_stream_map(&stream, pool, address, length, offset);
  }
  update_window();
}

void pc_view(UInt pool, Addr address, ULong length, ULong offset) {
  powercut_ranges_map(&views, address, length, pool, offset);
  update_window();
}

void pc_unmap(UInt kind, Addr address, ULong length) {
  const Addr end = length > ~address ? ~(Addr)0 : address + length;
  Addr at = address;
  powercut_range piece;
  if (kind != kPowercutDisowned) {
    powercut_ranges_unmap(&views, address, end - address);
  } else if (pc_loads) {
    while (powercut_ranges_next(&ranges, &at, end, &piece)) {
      pc_view(piece.pool, piece.begin, piece.end - piece.begin, piece.offset);
    }
  }
  if (powercut_ranges_unmap(&ranges, address, end - address) != 0) {
    powercut_stream_unmap(&stream, kind, address, length);
  }
  update_window();
}

void pc_pools_end(void) {
  pc_unmap(kPowercutDisowned, 0, ~0ull);
  for (UInt tid = 0; tid < VG_N_THREADS; ++tid) set_unfenced(tid, False);
}

static UInt slot_of(Addr line) { return (UInt)((line / kLine * 0x9E3779B97F4A7C15ull) >> 48) % kRecent; }

/* Notes a store to its lines. Non-temporal stores need no flush, so they hide no cacheable store before them. */
static void line_stored(Addr address, ULong size, Bool nt) {
  for (Addr line = address & ~(Addr)(kLine - 1); line < address + size; line += kLine) {
    const UInt slot = slot_of(line);
    if (nt && recent[slot].line == line && recent[slot].state == kStored) continue;
    recent[slot].line = line;
    recent[slot].state = nt ? kStreamed : kStored;
  }
}

static UChar line_state(Addr line, ThreadId tid) {
  const UInt slot = slot_of(line);
  if (recent[slot].line != line) return 0;
  /* A line that another thread has flushed may need another flush by this thread. */
  const UChar state = recent[slot].state;
  return state <= kStreamed || recent[slot].tid == tid ? state : kStored;
}

static void line_flushed(Addr line, ThreadId tid, LineState state) {
  const UInt slot = slot_of(line);
  recent[slot].line = line;
  recent[slot].state = state;
  recent[slot].tid = tid;
}

/* Records a store of any size: each part that lies in one mapping is a record. Returns false if no part does. */
static Bool record_store(ThreadId tid, Addr address, ULong size, UInt flags) {
  const Addr end = address + size;
  powercut_site site;
  Bool placed = False;
  powercut_range piece;
  while (powercut_ranges_next(&ranges, &address, end, &piece)) {
    if (!placed) {
      site = pc_site(tid);
      placed = True;
      ++stored;
      threads[tid].did = kDidOther;
      set_unfenced(tid, True);
    }
    const ULong length = piece.end - piece.begin;
    powercut_stream_store(&stream, site, flags, piece.begin, (const void*)piece.begin, length);
    flags |= kPowercutStoreContinues;
    line_stored(piece.begin, length, (flags & kPowercutStoreNt) != 0);
  }
  return placed;
}

void pc_pieces(void) {
  if (pc_tell_store == NULL) threads[VG_(get_running_tid)()].pieces = False;
}

void pc_store(Addr address, ULong size, ULong flags) {
  const ThreadId tid = VG_(get_running_tid)();
  if (pc_tell_store != NULL) return pc_tell_store(tid, address, size);
  Thread* thread = &threads[tid];
  const Bool string = (flags & kPowercutStoreString) != 0, last = (flags & kLastPiece) != 0;
  if (!(string ? thread->rounds : thread->pieces)) flags &= ~(ULong)kPowercutStoreContinues;
  const Bool recorded = record_store(tid, address, size, (UInt)flags & ~(UInt)kLastPiece);
  thread->pieces = recorded && !string;
  thread->rounds = recorded && string && !last;
}

/* Bytes of a pool's lines that were recorded as loaded, in a table that forgets. A second load tells nothing new:
 * stores in between can only hide the bytes that were there at first. */
static struct {
  ULong key; /* key of the line; 0: none */
  ULong bytes;
} told[kTold];

static Bool is_told(const powercut_range* piece, Bool view) {
  const ULong end = piece->offset + (piece->end - piece->begin);
  Bool all = True;
  for (ULong at = piece->offset; at < end;) {
    const ULong line = at / kLine, next = (line + 1) * kLine, until = next < end ? next : end;
    const ULong bytes = (until - at == kLine ? ~0ull : (1ull << (until - at)) - 1) << at % kLine;
    const ULong key = (line << 8 | (ULong)piece->pool << 1 | view) + 1;
    const UInt slot = (UInt)((key * 0x9E3779B97F4A7C15ull) >> 48) % kTold;
    if (told[slot].key != key) {
      told[slot].key = key;
      told[slot].bytes = 0;
    }
    all = all && (bytes & ~told[slot].bytes) == 0;
    told[slot].bytes |= bytes;
    at = until;
  }
  return all;
}

static void loaded(ThreadId tid, Addr address, ULong size) {
  const Addr end = address + size;
  powercut_range piece;
  for (Addr at = address; powercut_ranges_next(&ranges, &at, end, &piece);) {
    if (is_told(&piece, False)) continue;
    const powercut_site site = {number_of(tid), 0};
    powercut_stream_load(&stream, site, piece.begin, piece.end - piece.begin);
  }
  for (Addr at = address; powercut_ranges_next(&views, &at, end, &piece);) {
    if (is_told(&piece, True)) continue;
    const powercut_site site = {number_of(tid), 0};
    powercut_stream_file_read(&stream, site, kPowercutReadSince, piece.pool, piece.offset, piece.end - piece.begin);
  }
}

void pc_load(Addr address, ULong size) { loaded(VG_(get_running_tid)(), address, size); }

void pc_flush(Addr address, ULong kind) {
  Addr begin;
  const Addr line = address & ~(Addr)(kLine - 1);
  if (powercut_ranges_clip(&ranges, line, kLine, &begin) == 0) return;
  const ThreadId tid = VG_(get_running_tid)();
  const Bool counted = kind != kPowercutClflush && line_state(line, tid) == kAnnotated;
  line_flushed(line, tid, kFlushed);
  if (counted) return;
  threads[tid].did = kDidOther;
  set_unfenced(tid, True);
  powercut_stream_flush_line(&stream, pc_site(tid), (UInt)kind, begin);
}

static void record_fence(ThreadId tid, UInt kind) {
  set_unfenced(tid, False);
  powercut_stream_fence(&stream, pc_site(tid), kind);
}

void pc_fence(ULong kind) {
  if (pc_tell_store != NULL) return;
  const ThreadId tid = VG_(get_running_tid)();
  /* After the last pool is gone there may be stores and flushes left that the fence orders. */
  if (ranges.count == 0 && !threads[tid].unfenced) return;
  const Bool counted = threads[tid].did == kDidAnnotatedFence;
  threads[tid].did = kDidFence;
  if (!counted) record_fence(tid, (UInt)kind);
}

void pc_rmw(Addr address, ULong size, ULong stored) {
  Addr begin;
  const ThreadId tid = VG_(get_running_tid)();
  if (pc_tell_store != NULL) {
    if (stored) pc_tell_store(tid, address, size);
    return;
  }
  const Bool inside = powercut_ranges_clip(&ranges, address, size, &begin) != 0;
  UInt fence = kPowercutRmwFence;
  if (!inside) {
    /* Only the instruction's fence can matter. A fence that the system's libraries happen to execute (in printf, in
     * exit) would hide a fence that the program forgot. */
    const LockedBy by = threads[tid].unfenced ? pc_locked_by(tid) : kIncidental;
    if (by == kIncidental) return;
    if (by == kOfLock) fence = kPowercutLockFence;
  }
  threads[tid].did = kDidOther;
  record_fence(tid, fence);
  if (inside && stored) record_store(tid, address, size, kPowercutStoreRmw | kPowercutStoreAtomic);
}

void pc_annotated_flush(ThreadId tid, Addr address, ULong size) {
  for (Addr line = address & ~(Addr)(kLine - 1); line < address + size; line += kLine) {
    Addr begin;
    if (powercut_ranges_clip(&ranges, line, kLine, &begin) == 0) continue;
    const UChar state = line_state(line, tid);
    if (state >= kStreamed) continue;
    line_flushed(line, tid, kAnnotated);
    threads[tid].did = kDidOther;
    set_unfenced(tid, True);
    powercut_stream_flush_line(&stream, pc_site(tid), kPowercutClwb, begin);
  }
}

void pc_annotated_fence(ThreadId tid) {
  if ((ranges.count == 0 && !threads[tid].unfenced) || threads[tid].did != kDidOther) return;
  threads[tid].did = kDidAnnotatedFence;
  record_fence(tid, kPowercutSfence);
}

void pc_kernel_write(CorePart part, ThreadId tid, Addr address, SizeT size) {
  if (pc_tell_store != NULL && tid != VG_INVALID_THREADID) return pc_tell_store(tid, address, size);
  if (ranges.count == 0 || tid == VG_INVALID_THREADID) return;
  record_store(tid, address, size, 0);
}

void pc_kernel_read(CorePart part, ThreadId tid, const HChar* what, Addr address, SizeT size) {
  if (tid != VG_INVALID_THREADID) loaded(tid, address, size);
}

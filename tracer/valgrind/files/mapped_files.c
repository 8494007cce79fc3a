/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/files/mapped_files.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_stacktrace.h"
#include "pub_tool_vki.h"
#include "tracer/calls/store_record.h"
#include "tracer/file_calls/file_calls.h"
#include "tracer/stream/pools.h"
#include "tracer/valgrind/core.h"
#include "tracer/valgrind/files/untold_writes.h"
#include "tracer/valgrind/recorder.h"

enum { kBuffer = 1 << 16, kDepth = 32, kKnownStacks = 1 << 12, kMostFiles = 1 << 10, kLine = 64 };

static const HChar* path;
static Int fd = -1;
static UChar buffer[kBuffer];
static UInt used;
static ULong known_stacks[kKnownStacks]; /* names that this process has told, in a table that forgets */
static ULong inodes[kMostFiles];
static UInt file_count;
static powercut_ranges ranges; /* their pools are places in `inodes` */

void pc_stores_named(const HChar* named) { path = named; }

Bool pc_tells_stores(void) { return path != NULL; }

void pc_stores_in_child(void) {
  used = 0; /* the parent tells what is in the buffer */
  VG_(memset)(known_stacks, 0, sizeof known_stacks);
}

void pc_stores_flush(void) {
  if (used != 0 && VG_(write)(fd, buffer, (Int)used) != (Int)used) {
    VG_(umsg)("powercut: cannot tell what the program stores. Free some space and record again.\n");
  }
  used = 0;
}

static void put(const powercut_store_record* record, const void* bytes) {
  if (used + sizeof *record + record->size > kBuffer) pc_stores_flush();
  VG_(memcpy)(buffer + used, record, sizeof *record);
  VG_(memcpy)(buffer + used + sizeof *record, bytes, record->size);
  used += sizeof *record + record->size;
}

/* Returns the name of the thread's stack, which is told if it was not. */
static ULong stack_of(ThreadId tid) {
  Addr addresses[kDepth];
  const UInt depth = VG_(get_StackTrace)(tid, addresses, kDepth, NULL, NULL, 0);
  ULong name = 1;
  for (UInt i = 0; i < depth; ++i) {
    ++addresses[i]; /* the recorder expects addresses behind a call, and these lie in it */
    name = (name ^ addresses[i]) * 0x9E3779B97F4A7C15ull;
  }
  ULong* const known = &known_stacks[(name >> 40) % kKnownStacks];
  if (*known != name) {
    *known = name;
    const powercut_store_record record = {kPowercutStoreStack, depth * (UInt)sizeof *addresses, tid, name, 0, 0};
    put(&record, addresses);
  }
  return name;
}

static void tell_store(ThreadId tid, Addr address, ULong size) {
  const Addr end = address + size;
  powercut_range piece;
  ULong stack = 0;
  while (powercut_ranges_next(&ranges, &address, end, &piece)) {
    if (stack == 0) stack = stack_of(tid);
    for (Addr at = piece.begin; at < piece.end; at += kPowercutMostStored) {
      const ULong left = piece.end - at;
      const powercut_store_record record = {kPowercutStoreOfFile,
                                            left < kPowercutMostStored ? (UInt)left : kPowercutMostStored,
                                            tid,
                                            stack,
                                            inodes[piece.pool],
                                            piece.offset + (at - piece.begin)};
      put(&record, (const void*)at);
    }
  }
}

void pc_stores_begin(void) {
  pc_tell_store = tell_store;
  const SysRes file = VG_(open)(path, VKI_O_WRONLY | VKI_O_APPEND, 0);
  if (sr_isError(file)) {
    VG_(fmsg)("powercut: cannot write %s (error %lu).\n", path, sr_Err(file));
    VG_(exit)(1);
  }
  fd = VG_(safe_fd)((Int)sr_Res(file));
}

/* Whether the recorder of calls stops a thread at such a call. */
static Bool is_followed(const powercut_file_call* call) {
  switch (powercut_call_does_what(call)) {
    case kPowercutOpens:
    case kPowercutWrites:
    case kPowercutCopies:
    case kPowercutAllocates:
    case kPowercutResizes:
    case kPowercutSyncs:
    case kPowercutSyncsRange:
    case kPowercutSyncsAll:
    case kPowercutSyncsMemory:
    case kPowercutMakes:
    case kPowercutLinks:
    case kPowercutRenames:
    case kPowercutTakes:
    case kPowercutTakesFolder:
      return True;
    default:
      return False;
  }
}

void pc_stores_pre_syscall(ThreadId tid, UInt number) {
  if (is_followed(powercut_file_call_of(number))) {
    const powercut_store_record record = {kPowercutStoreCall, 0, tid, stack_of(tid), 0, 0};
    put(&record, buffer);
  }
  pc_stores_flush();
}

static void update_window(void) {
  pc_window.low = ranges.span == 0 ? 0 : ranges.low - (kLine - 1);
  pc_window.span = ranges.span == 0 ? 0 : ranges.low + ranges.span - pc_window.low;
}

static void map(Addr address, ULong length, UInt file, ULong offset) {
  powercut_ranges_map(&ranges, address, length, file, offset);
}

static void after_mmap(const UWord* args, Addr address) {
  enum { kTypeMask = 0x0F }; /* MAP_SHARED is 1, MAP_SHARED_VALIDATE 3 */
  struct vg_stat status;
  const ULong length = VG_PGROUNDUP(args[1]);
  powercut_ranges_unmap(&ranges, address, length);
  if ((args[3] & VKI_MAP_ANONYMOUS) != 0 || (args[3] & kTypeMask) == VKI_MAP_PRIVATE) return;
  if ((VG_(fcntl)((Int)args[4], VKI_F_GETFL, 0) & VKI_O_ACCMODE) != VKI_O_RDWR) return;
  if (VG_(fstat)((Int)args[4], &status) != 0 || !VKI_S_ISREG(status.mode)) return;
  UInt file = 0;
  while (file < file_count && inodes[file] != status.ino) ++file;
  /* The recorder compares the files at the end, and says that stores are missing. */
  if (file == kMostFiles) return;
  inodes[file] = status.ino;
  if (file == file_count) ++file_count;
  map(address, length, file, args[5]);
}

static void after_mremap(const UWord* args, Addr to) {
  enum { kDontUnmap = 4 };
  Addr at = args[0];
  powercut_range found;
  const Bool ours = powercut_ranges_next(&ranges, &at, args[0] + 1, &found) != 0;
  if ((args[3] & kDontUnmap) == 0) powercut_ranges_unmap(&ranges, args[0], VG_PGROUNDUP(args[1]));
  powercut_ranges_unmap(&ranges, to, VG_PGROUNDUP(args[2]));
  if (ours) map(to, VG_PGROUNDUP(args[2]), found.pool, found.offset);
}

void pc_stores_post_syscall(ThreadId tid, UInt number, UWord* args, SysRes result) {
  if (sr_isError(result)) return;
  pc_untold_writes(tid, number, args);
  switch (powercut_call_does_what(powercut_file_call_of(number))) {
    case kPowercutMaps:
      after_mmap(args, sr_Res(result));
      break;
    case kPowercutUnmaps:
      powercut_ranges_unmap(&ranges, args[0], VG_PGROUNDUP(args[1]));
      break;
    case kPowercutRemaps:
      after_mremap(args, sr_Res(result));
      break;
    default:
      return;
  }
  update_window();
}

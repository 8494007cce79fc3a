/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/files/calls.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "tracer/valgrind/exec.h"
#include "tracer/valgrind/files/device.h"
#include "tracer/valgrind/files/file_calls.h"
#include "tracer/valgrind/files/file_pages.h"
#include "tracer/valgrind/files/file_reads.h"
#include "tracer/valgrind/files/mapped_files.h"
#include "tracer/valgrind/files/pool_files.h"
#include "tracer/valgrind/files/untold_writes.h"
#include "tracer/valgrind/recorder.h"

enum { kWriteAppend = 16 /* RWF_APPEND */ };

static void after_mmap(ThreadId tid, UWord* args, Addr address) {
  enum { kTypeMask = 0x0F }; /* MAP_SHARED is 1, MAP_SHARED_VALIDATE 3 */
  const ULong length = VG_PGROUNDUP(args[1]);
  pc_unmap(kPowercutGone, address, length);
  if ((args[3] & VKI_MAP_ANONYMOUS) != 0) return;
  const Int pool = pc_pool_of(tid, (Int)args[4]);
  if (pool < 0) return;
  pc_refuse_code(args[2]);
  if ((args[3] & kTypeMask) == VKI_MAP_PRIVATE) {
    if (pc_loads) return pc_view((UInt)pool, address, length, args[5]);
    powercut_stream_note(pc_stream(), kPowercutNotePrivate, pc_pool_path((UInt)pool));
    return;
  }
  pc_map((UInt)pool, address, length, args[5]);
}

static void after_mremap(Addr from, ULong old_length, Addr to, ULong new_length, UWord flags) {
  enum { kDontUnmap = 4 };
  Addr at = from;
  powercut_range found;
  Bool shared = powercut_ranges_next(pc_ranges(), &at, from + 1, &found) != 0;
  if (!shared && !powercut_ranges_next(pc_views(), &at, from + 1, &found)) {
    pc_unmap(kPowercutGone, to, new_length);
    return;
  }
  if ((flags & kDontUnmap) == 0) pc_unmap(kPowercutGone, from, VG_PGROUNDUP(old_length));
  pc_unmap(kPowercutGone, to, VG_PGROUNDUP(new_length));
  (shared ? pc_map : pc_view)(found.pool, to, VG_PGROUNDUP(new_length), found.offset);
}

static void write_page(UInt pool, ULong offset, const UChar* bytes, UInt size) {
  /* The caller's thread runs: the stack is still the system call's. */
  powercut_stream_file_write(pc_stream(), pc_site(VG_(get_running_tid)()), pool, offset, bytes, size);
}

/* Records that `size` bytes at `offset` of the file were written: they are read back, since they may have come from
 * anywhere. */
static void file_written(UInt pool, ULong offset, ULong size) {
  pc_each_page(pc_pool_path(pool), offset, offset + size, write_page, pool);
}

/* Records that a call has written `size` bytes to `fd`: at `offset`, or at the descriptor's position if `offset` is
 * negative. */
static void written(ThreadId tid, Int fd, Long offset, ULong size, Bool append) {
  const Int pool = pc_pool_of(tid, fd);
  if (pool < 0) return;
  const Long begin = pc_written_at(fd, offset, size, append);
  if (begin < 0) return;
  /* Bytes that are recorded as written count as not read, so a doubtful place is not recorded. */
  if (pc_loads && begin != offset && !pc_moved_alone(tid, fd, size)) return;
  pc_file_stored();
  file_written((UInt)pool, (ULong)begin, size);
}

static void after_fallocate(ThreadId tid, UWord* args) {
  enum { kPunchHole = 2, kZeroRange = 16 };
  const Int pool = pc_pool_of(tid, (Int)args[0]);
  if (pool < 0 || (args[1] & (kPunchHole | kZeroRange)) == 0) return;
  pc_file_stored();
  for (ULong done = 0; done < args[3]; done += kFilePage) {
    const ULong left = args[3] - done;
    write_page((UInt)pool, args[2] + done, pc_zeros, left < kFilePage ? (UInt)left : kFilePage);
  }
}

static void synced(ThreadId tid, UInt pool, ULong offset, ULong length, UInt kind) {
  powercut_stream_sync(pc_stream(), pc_site(tid), kind, pool, offset, length);
}

static void after_msync(ThreadId tid, Addr address, ULong length) {
  const Addr end = VG_PGROUNDUP(address + length);
  powercut_range piece;
  while (powercut_ranges_next(pc_ranges(), &address, end, &piece)) {
    synced(tid, piece.pool, piece.offset, piece.end - piece.begin, kPowercutMsync);
  }
}

static void sync_all(ThreadId tid) {
  for (UInt pool = 0; pool < pc_pool_count(); ++pool) synced(tid, pool, 0, ~0ull, kPowercutFsync);
}

void pc_pre_syscall(ThreadId tid, UInt number, UWord* args, UInt count) {
  if (pc_tells_stores()) return pc_stores_pre_syscall(tid, number);
  if (!pc_recording()) return;
  const powercut_file_call* call = powercut_file_call_of(number);
  if (number == __NR_exit_group || number == __NR_exit) pc_recorder_status((Int)args[0]);
  if (pc_has_device()) pc_device_pre_syscall(tid, call, args);
  if (pc_loads) pc_reads_pre_syscall(tid, number, args);
  if (powercut_call_does_what(call) == kPowercutExecutes) pc_before_exec(tid);
}

static void on_pools(ThreadId tid, const powercut_file_call* call, UWord* args, UWord value) {
  const Int descriptor = call == NULL ? -1 : powercut_argument(call, 'd');
  const Int flags = call == NULL ? -1 : powercut_argument(call, 'l');
  switch (powercut_call_does_what(call)) {
    case kPowercutMaps:
      after_mmap(tid, args, value);
      break;
    case kPowercutUnmaps:
      pc_unmap(kPowercutGone, args[0], VG_PGROUNDUP(args[1]));
      break;
    case kPowercutRemaps:
      after_mremap(args[0], args[1], value, args[2], args[3]);
      break;
    case kPowercutWrites:
    case kPowercutCopies:
      written(tid, (Int)args[descriptor], pc_written_from(call, args, value), value,
              flags >= 0 && (args[flags] & kWriteAppend) != 0);
      break;
    case kPowercutResizes: /* by its path another process may change the file as well */
      if (descriptor >= 0) pc_pool_of(tid, (Int)args[descriptor]);
      break;
    case kPowercutAllocates:
      after_fallocate(tid, args);
      break;
    case kPowercutOpens: /* the file may have been truncated, made or replaced */
      pc_pool_of(tid, (Int)value);
      break;
    case kPowercutSyncsMemory:
      after_msync(tid, args[0], args[1]);
      break;
    case kPowercutSyncs: {
      const Int pool = pc_pool_of(tid, (Int)args[descriptor]);
      if (pool >= 0) synced(tid, (UInt)pool, 0, ~0ull, kPowercutFsync);
      break;
    }
    case kPowercutSyncsAll:
      sync_all(tid);
      break;
    default:
      break;
  }
}

void pc_post_syscall(ThreadId tid, UInt number, UWord* args, UInt count, SysRes result) {
  if (pc_tells_stores()) return pc_stores_post_syscall(tid, number, args, result);
  if (!pc_recording()) return;
  const powercut_file_call* call = powercut_file_call_of(number);
  if (powercut_call_does_what(call) == kPowercutExecutes) pc_recorder_closes_on_exec(True);
  if (pc_has_device()) pc_device_post_syscall(tid, call, args, result);
  if (pc_has_device() || sr_isError(result)) return;
  const UWord value = sr_Res(result);
  if (pc_loads) pc_reads_post_syscall(tid, call, args, value);
  pc_untold_writes(tid, number, args);
  on_pools(tid, call, args, value);
}

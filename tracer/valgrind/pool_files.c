/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/pool_files.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "tracer/valgrind/core.h"
#include "tracer/valgrind/device.h"
#include "tracer/valgrind/exec.h"
#include "tracer/valgrind/file_calls.h"
#include "tracer/valgrind/file_reads.h"
#include "tracer/valgrind/recorder.h"
#include "tracer/valgrind/untold_writes.h"

enum { kMostPools = 64, kPage = 4096, kWriteAppend = 16 /* RWF_APPEND */ };

typedef struct {
  const HChar* path; /* empty: memory that is no file */
  Bool exists;       /* then these are its */
  ULong device, inode;
  ULong size;
  Bool named;
} PoolFile;

static PoolFile pools[kMostPools];
static UInt pool_count, named_count;

static const UChar kZeros[kPage];

/* ---- definition ---- */

Bool pc_pools_are_named(void) { return pc_has_device() || named_count != 0; }

Bool pc_pool_named(const HChar* path) {
  if (pool_count == kMostPools) return False;
  pools[pool_count].path = VG_(strdup)("powercut.pool", path);
  pools[pool_count].named = True;
  ++pool_count;
  ++named_count;
  return True;
}

static void content_page(UInt pool, ULong offset, const UChar* bytes, UInt size) {
  if (VG_(memcmp)(bytes, kZeros, size) != 0) powercut_stream_content(pc_stream(), pool, offset, bytes, size);
}

/* The bytes of a file, from `offset` on, handed on by pages. Holes are passed over. */
static void each_page(const HChar* path, ULong offset, ULong end, void (*visit)(UInt, ULong, const UChar*, UInt),
                      UInt pool) {
  enum { kSeekData = 3, kBuffer = 64 * kPage };
  static UChar buffer[kBuffer];
  const Int file = VG_(fd_open)(path, VKI_O_RDONLY, 0);
  if (file < 0) return;
  while (offset < end) {
    const Off64T data = VG_(lseek)(file, (Off64T)offset, kSeekData);
    if (data < 0 && VG_(lseek)(file, 0, kSeekData) >= 0) break; /* only a hole is left */
    if (data > (Off64T)offset) offset = (ULong)data;
    if (offset >= end) break;
    if (VG_(lseek)(file, (Off64T)offset, VKI_SEEK_SET) < 0) break;
    const ULong wanted = end - offset < kBuffer ? end - offset : kBuffer;
    const Int got = VG_(read)(file, buffer, (Int)wanted);
    if (got <= 0) break;
    for (UInt at = 0; at < (UInt)got; at += kPage) {
      visit(pool, offset + at, buffer + at, (UInt)got - at < kPage ? (UInt)got - at : kPage);
    }
    offset += (ULong)got;
  }
  VG_(close)(file);
}

void pc_file_content(UInt pool, const HChar* path, ULong size) { each_page(path, 0, size, content_page, pool); }

UInt pc_pool_count(void) { return pool_count; }

void pc_pools_begin(void) {
  const Bool resumed = pc_resumed.fd >= 0;
  /* Memory that the program before this one had registered. */
  while (pool_count < pc_resumed.pools) pools[pool_count++].path = "";
  for (UInt pool = 0; pool < pool_count; ++pool) {
    struct vg_stat status;
    PoolFile* file = &pools[pool];
    if (!sr_isError(VG_(stat)(file->path, &status))) {
      file->exists = True;
      file->device = status.dev;
      file->inode = status.ino;
      file->size = (ULong)status.size;
    }
    if (resumed) continue;
    powercut_stream_pool(pc_stream(), kPowercutMemory, file->path, file->size);
    if (!pc_loads) pc_file_content(pool, file->path, file->size);
  }
}

/* ---- recognition ---- */

static void set_size(ThreadId tid, UInt pool, ULong size) {
  if (pools[pool].size == size) return;
  pools[pool].size = size;
  powercut_stream_file_size(pc_stream(), pc_site(tid), pool, size);
}

Bool pc_is_pool(const struct vg_stat* status) {
  for (UInt pool = 0; pool < pool_count; ++pool) {
    const PoolFile* file = &pools[pool];
    if (file->exists && file->device == status->dev && file->inode == status->ino) return True;
  }
  return False;
}

Int pc_pool_of(ThreadId tid, Int fd) {
  struct vg_stat status, named;
  if (pool_count == 0 || fd < 0 || VG_(fstat)(fd, &status) != 0) return -1;
  for (UInt pool = 0; pool < pool_count; ++pool) {
    PoolFile* file = &pools[pool];
    if (*file->path == '\0') continue;
    if (!file->exists || file->device != status.dev || file->inode != status.ino) {
      /* Perhaps it was made, or replaced, since it was last looked at. */
      if (sr_isError(VG_(stat)(file->path, &named)) || named.dev != status.dev || named.ino != status.ino) continue;
      if (file->exists) set_size(tid, pool, 0);
      file->exists = True;
      file->device = status.dev;
      file->inode = status.ino;
    }
    set_size(tid, pool, (ULong)status.size);
    return (Int)pool;
  }
  return -1;
}

void pc_pool_registered(Addr address, ULong length, Bool always) {
  Addr begin;
  if (length == 0 || powercut_ranges_clip(pc_ranges(), address, length, &begin) == length) return;
  const NSegment* segment = VG_(am_find_nsegment)(address);
  const HChar* path = segment != NULL && segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;
  if (path == NULL) path = "";
  /* A variable of a program or library is no file: by it, a library finds out whether anybody listens. */
  if (!always && VG_(DebugInfo_sect_kind)(NULL, address) != Vg_SectUnknown) return;
  if (pc_has_device() || (named_count != 0 && !always)) {
    /* A library tells of every file that it maps; the user has said which of them count. */
    if (pc_loads) return;
    powercut_stream_note(pc_stream(), kPowercutNoteOther,
                         "the program registers persistent memory that no --pool names: it was not recorded");
    return;
  }
  const ULong offset = *path == '\0' ? 0 : (ULong)segment->offset + (address - segment->start);
  UInt pool = 0;
  while (pool < pool_count && (*path == '\0' || VG_(strcmp)(pools[pool].path, path) != 0)) ++pool;
  if (pool == pool_count) {
    if (pool_count == kMostPools) {
      powercut_stream_note(pc_stream(), kPowercutNoteOther, "more than 64 pools: one was not recorded");
      return;
    }
    struct vg_stat status;
    PoolFile* file = &pools[pool_count++];
    file->path = VG_(strdup)("powercut.pool", path);
    if (*path != '\0' && !sr_isError(VG_(stat)(path, &status))) {
      file->exists = True;
      file->device = status.dev;
      file->inode = status.ino;
      file->size = (ULong)status.size;
    }
    powercut_stream_pool(pc_stream(), kPowercutMemory, file->path, file->size);
  }
  /* What it holds now is what the program has started from. */
  for (ULong at = 0; at < length; at += kPage) {
    content_page(pool, offset + at, (const UChar*)(address + at), length - at < kPage ? (UInt)(length - at) : kPage);
  }
  pc_map(pool, address, length, offset);
}

/* ---- system calls ---- */

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
    powercut_stream_note(pc_stream(), kPowercutNotePrivate, pools[pool].path);
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

static void file_page(UInt pool, ULong offset, const UChar* bytes, UInt size) {
  /* The caller's thread runs: the stack is still that of the system call. */
  powercut_stream_file_write(pc_stream(), pc_site(VG_(get_running_tid)()), pool, offset, bytes, size);
}

/* `size` bytes at `offset` of the file were written: they are read back, since they may have come from anywhere. */
static void file_written(UInt pool, ULong offset, ULong size) {
  each_page(pools[pool].path, offset, offset + size, file_page, pool);
}

/* A call has written `size` bytes to `fd`: at `offset`, or at its position where that is negative. */
static void written(ThreadId tid, Int fd, Long offset, ULong size, Bool append) {
  const Int pool = pc_pool_of(tid, fd);
  if (pool < 0) return;
  const Long begin = pc_written_at(fd, offset, size, append);
  if (begin < 0) return;
  /* What is told of as written counts as not read. */
  if (pc_loads && begin != offset && !pc_moved_alone(tid, fd, size)) return;
  pc_file_stored();
  file_written((UInt)pool, (ULong)begin, size);
}

static void after_fallocate(ThreadId tid, UWord* args) {
  enum { kPunchHole = 2, kZeroRange = 16 };
  const Int pool = pc_pool_of(tid, (Int)args[0]);
  if (pool < 0 || (args[1] & (kPunchHole | kZeroRange)) == 0) return;
  pc_file_stored();
  for (ULong done = 0; done < args[3]; done += kPage) {
    const ULong left = args[3] - done;
    file_page((UInt)pool, args[2] + done, kZeros, left < kPage ? (UInt)left : kPage);
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
  for (UInt pool = 0; pool < pool_count; ++pool) synced(tid, pool, 0, ~0ull, kPowercutFsync);
}

void pc_pre_syscall(ThreadId tid, UInt number, UWord* args, UInt count) {
  if (!pc_recording()) return;
  if (number == __NR_exit_group || number == __NR_exit) pc_recorder_status((Int)args[0]);
  if (pc_has_device()) pc_device_pre_syscall(tid, number, args);
  if (pc_loads) pc_reads_pre_syscall(tid, number, args);
  if (number == __NR_execve || number == __NR_execveat) pc_before_exec(tid);
}

void pc_post_syscall(ThreadId tid, UInt number, UWord* args, UInt count, SysRes result) {
  if (!pc_recording()) return;
  if (number == __NR_execve || number == __NR_execveat) pc_exec_failed();
  if (pc_has_device()) pc_device_post_syscall(tid, number, args, result);
  if (pc_has_device() || sr_isError(result)) return;
  const UWord value = sr_Res(result);
  if (pc_loads) pc_reads_post_syscall(tid, number, args, value);
  pc_untold_writes(tid, number, args);
  switch (number) {
    case __NR_mmap:
      after_mmap(tid, args, value);
      break;
    case __NR_munmap:
      pc_unmap(kPowercutGone, args[0], VG_PGROUNDUP(args[1]));
      break;
    case __NR_mremap:
      after_mremap(args[0], args[1], value, args[2], args[3]);
      break;
    case __NR_write:
    case __NR_writev:
    case __NR_sendfile:
      written(tid, (Int)args[0], -1, value, False);
      break;
    case __NR_pwrite64:
    case __NR_pwritev:
      written(tid, (Int)args[0], (Long)args[3], value, False);
      break;
    case __NR_pwritev2:
      written(tid, (Int)args[0], (Long)args[3], value, (args[5] & kWriteAppend) != 0);
      break;
    case __NR_copy_file_range:
    case __NR_splice:
      written(tid, (Int)args[2], args[3] == 0 ? -1 : (Long)(*(const ULong*)args[3] - value), value, False);
      break;
    case __NR_ftruncate:
      pc_pool_of(tid, (Int)args[0]);
      break;
    case __NR_fallocate:
      after_fallocate(tid, args);
      break;
    case __NR_open:
    case __NR_openat:
    case __NR_creat:
      pc_pool_of(tid, (Int)value); /* it may have been truncated, made or replaced */
      break;
    case __NR_msync:
      after_msync(tid, args[0], args[1]);
      break;
    case __NR_fsync:
    case __NR_fdatasync: {
      const Int pool = pc_pool_of(tid, (Int)args[0]);
      if (pool >= 0) synced(tid, (UInt)pool, 0, ~0ull, kPowercutFsync);
      break;
    }
    case __NR_sync:
    case __NR_syncfs:
      sync_all(tid);
      break;
    default:
      break;
  }
}

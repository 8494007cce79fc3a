/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/files/device.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "tracer/valgrind/core.h"
#include "tracer/valgrind/files/file_calls.h"
#include "tracer/valgrind/files/file_pages.h"
#include "tracer/valgrind/recorder.h"
#include "tracer/valgrind/resumed.h"

enum {
  kDevice = 0, /* number of the device among the pools */
  kMostRefused = 16,
  kMostThreads = 4096,
  kDataSync = 010000, /* O_DSYNC, which O_SYNC has as well */
  kWriteSync = 2 | 4, /* RWF_DSYNC, RWF_SYNC */
  kWriteAppend = 16   /* RWF_APPEND */
};

static const HChar* path; /* NULL: no device */
static Bool exists;       /* True: the next two are the file's */
static ULong device, inode;
static ULong size;

static powercut_ranges maps; /* mappings that may be read */
static const HChar* refused[kMostRefused];
static UInt refused_count;

/* Threads may be in calls at the same time. A sync speaks of the bytes that were written before it began. The stream
 * takes a sync for one of all bytes recorded before its end, so no write may come in between. */
static UInt writing;  /* calls that write, under way */
static ULong written; /* calls that write, ended */
typedef struct {
  Bool writes;
  ULong synced_from; /* `written` when the thread's sync began */
} Call;
static Call calls[kMostThreads];

Bool pc_device_named(const HChar* name) {
  if (path != NULL) return False;
  path = VG_(strdup)("powercut.device", name);
  return True;
}

Bool pc_has_device(void) { return path != NULL; }

static void know(const struct vg_stat* status) {
  exists = True;
  device = status->dev;
  inode = status->ino;
}

void pc_device_begin(void) {
  struct vg_stat status;
  if (!sr_isError(VG_(stat)(path, &status))) {
    know(&status);
    size = (ULong)status.size;
  }
  if (pc_resumed.fd >= 0) return;
  powercut_stream_pool(pc_stream(), kPowercutDevice, path, size);
  pc_file_content(kDevice, path, size);
}

/* Notes the refusal, once for each `what`, which is a constant. */
static void refuse(const HChar* what) {
  HChar text[kPowercutMostText];
  for (UInt i = 0; i < refused_count; ++i) {
    if (VG_(strcmp)(refused[i], what) == 0) return;
  }
  if (refused_count < kMostRefused) refused[refused_count++] = what;
  VG_(snprintf)(text, sizeof text, "the program used %s on the device %s, which is not modelled", what, path);
  powercut_stream_note(pc_stream(), kPowercutNoteRefused, text);
}

static void set_size(ThreadId tid, ULong now) {
  if (now == size) return;
  size = now;
  powercut_stream_file_size(pc_stream(), pc_site(tid), kDevice, size);
}

/* Returns whether the file of this status is the device. A new file under the device's name becomes the device. */
static Bool is_device(const struct vg_stat* status) {
  struct vg_stat named;
  if (exists && status->dev == device && status->ino == inode) return True;
  if (sr_isError(VG_(stat)(path, &named)) || named.dev != status->dev || named.ino != status->ino) return False;
  if (exists) refuse("another file in the place of the one that it had");
  know(&named);
  return True;
}

static Bool status_of(Int fd, struct vg_stat* status) {
  return fd >= 0 && VG_(fstat)(fd, status) == 0 && is_device(status);
}

static Bool is_open_on(Int fd) {
  struct vg_stat status;
  return status_of(fd, &status);
}

/* Returns whether `fd` is open on the device. Brings the size up to date, too. */
static Bool touched(ThreadId tid, Int fd) {
  struct vg_stat status;
  if (!status_of(fd, &status)) return False;
  set_size(tid, (ULong)status.size);
  return True;
}

static Bool is_named(Int folder, UWord name) {
  struct vg_stat status;
  return pc_file_at(folder, name, &status) && is_device(&status);
}

static Int flags_of(Int fd) { return VG_(fcntl)(fd, VKI_F_GETFL, 0); }

/* Records `length` bytes that were written at `offset`. The bytes are read back, since they may have come from
 * anywhere; no record crosses a page. */
static void record(ThreadId tid, ULong offset, ULong length, Bool durable) {
  static UChar bytes[kFilePage];
  const powercut_site site = pc_site(tid);
  const ULong first = offset, end = offset + length;
  const Int file = VG_(fd_open)(path, VKI_O_RDONLY, 0);
  while (offset < end) {
    const ULong room = kFilePage - offset % kFilePage;
    const Int piece = (Int)(end - offset < room ? end - offset : room);
    if (file < 0 || VG_(lseek)(file, (Off64T)offset, VKI_SEEK_SET) < 0 || VG_(read)(file, bytes, piece) != piece) {
      refuse("a write that cannot be read back");
      break;
    }
    powercut_stream_file_write(pc_stream(), site, kDevice, offset, bytes, (UInt)piece);
    offset += (ULong)piece;
  }
  if (file >= 0) VG_(close)(file);
  if (durable) powercut_stream_sync(pc_stream(), site, kPowercutWrittenThrough, kDevice, first, length);
}

static void zeroed(ThreadId tid, ULong offset, ULong length) {
  if (offset >= size) return;
  record(tid, offset, length < size - offset ? length : size - offset, False);
}

/* Records that a call has written `length` bytes to `fd`: see pc_written_at(). */
static void wrote(ThreadId tid, Int fd, Long offset, ULong length, UWord how) {
  if (length == 0 || !is_open_on(fd)) return;
  offset = pc_written_at(fd, offset, length, (how & kWriteAppend) != 0);
  touched(tid, fd); /* the size is told before the pieces that lie behind the old end */
  record(tid, (ULong)offset, length, (flags_of(fd) & kDataSync) != 0 || (how & kWriteSync) != 0);
}

static void synced(ThreadId tid) {
  if (tid < kMostThreads && (writing != 0 || calls[tid].synced_from != written)) {
    refuse("a sync by one thread while another one wrote (with 'powercut cc' their order is known)");
  }
  powercut_stream_sync(pc_stream(), pc_site(tid), kPowercutFsync, kDevice, 0, ~0ull);
}

static void after_fallocate(ThreadId tid, UWord* args) {
  enum { kKeepSize = 1, kPunchHole = 2, kZeroRange = 16 };
  if (!touched(tid, (Int)args[0])) return;
  if ((args[1] & ~(UWord)(kKeepSize | kPunchHole | kZeroRange)) != 0) {
    refuse("fallocate with another mode than KEEP_SIZE, PUNCH_HOLE or ZERO_RANGE");
  } else if ((args[1] & (kPunchHole | kZeroRange)) != 0) {
    zeroed(tid, args[2], args[3]);
  }
}

static void after_mmap(UWord* args, Addr address) {
  enum { kTypeMask = 0x0F };
  const ULong length = VG_PGROUNDUP(args[1]);
  powercut_ranges_unmap(&maps, address, length);
  if ((args[3] & VKI_MAP_ANONYMOUS) != 0 || (args[3] & kTypeMask) == VKI_MAP_PRIVATE) return;
  if (!is_open_on((Int)args[4])) return;
  if ((args[2] & VKI_PROT_WRITE) != 0 || powercut_ranges_map(&maps, address, length, kDevice, 0) != 0) {
    refuse("mmap with MAP_SHARED and PROT_WRITE");
  }
}

static void after_mremap(UWord* args, Addr to) {
  Addr begin;
  if (powercut_ranges_clip(&maps, args[0], 1, &begin) == 0) return;
  powercut_ranges_unmap(&maps, args[0], VG_PGROUNDUP(args[1]));
  powercut_ranges_map(&maps, to, VG_PGROUNDUP(args[2]), kDevice, 0);
}

static void after_mprotect(UWord* args) {
  Addr begin;
  if ((args[2] & VKI_PROT_WRITE) == 0 || powercut_ranges_clip(&maps, args[0], args[1], &begin) == 0) return;
  refuse("mprotect with PROT_WRITE");
}

static void same_file_system(ThreadId tid, Int fd) {
  struct vg_stat status, own;
  if (VG_(fstat)(fd, &status) == 0 && !sr_isError(VG_(stat)(path, &own)) && own.dev == status.dev) synced(tid);
}

/* Looks at the names of a call, before the call and after it: the call may take names away, or give them. */
static void look_at_names(const powercut_file_call* call, const UWord* args) {
  const FileNames names = pc_names_of(call, args);
  for (UInt i = 0; i < names.count; ++i) {
    if (is_named(names.folders[i], names.paths[i])) refuse(call->name);
  }
}

void pc_device_pre_syscall(ThreadId tid, const powercut_file_call* call, UWord* args) {
  const enum powercut_call_does does = powercut_call_does_what(call);
  if (does == kPowercutRings) refuse("io_uring, which may work");
  if (does == kPowercutSubmits) refuse("io_submit, which may work");
  look_at_names(call, args);
  if (tid >= kMostThreads) return;
  calls[tid].writes = is_open_on(pc_written_to(call, args));
  calls[tid].synced_from = written;
  if (calls[tid].writes) ++writing;
}

void pc_device_post_syscall(ThreadId tid, const powercut_file_call* call, UWord* args, SysRes result) {
  if (tid < kMostThreads && calls[tid].writes) {
    calls[tid].writes = False;
    --writing;
    ++written;
  }
  if (call == NULL || sr_isError(result)) return;
  const UWord value = sr_Res(result);
  const Int descriptor = powercut_argument(call, 'd'), flags = powercut_argument(call, 'l');
  switch (powercut_call_does_what(call)) {
    case kPowercutMaps:
      after_mmap(args, value);
      break;
    case kPowercutUnmaps:
      powercut_ranges_unmap(&maps, args[0], VG_PGROUNDUP(args[1]));
      break;
    case kPowercutRemaps:
      after_mremap(args, value);
      break;
    case kPowercutProtects:
      after_mprotect(args);
      break;
    case kPowercutWrites:
    case kPowercutCopies:
      wrote(tid, (Int)args[descriptor], pc_written_from(call, args, value), value, flags < 0 ? 0 : args[flags]);
      break;
    case kPowercutResizes:
      if (descriptor >= 0) touched(tid, (Int)args[descriptor]);
      if (descriptor < 0 && is_named(VKI_AT_FDCWD, args[powercut_argument(call, 'p')])) {
        set_size(tid, args[powercut_argument(call, 'z')]);
      }
      break;
    case kPowercutAllocates:
      after_fallocate(tid, args);
      break;
    case kPowercutOpens: /* the file may have been truncated or made */
      touched(tid, (Int)value);
      break;
    case kPowercutSyncs:
      if (is_open_on((Int)args[descriptor])) synced(tid);
      break;
    case kPowercutSyncsAll:
      if (descriptor < 0) synced(tid);
      if (descriptor >= 0) same_file_system(tid, (Int)args[descriptor]);
      break;
    default:
      look_at_names(call, args);
      break;
  }
}

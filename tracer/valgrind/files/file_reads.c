/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/files/file_reads.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "tracer/valgrind/core.h"
#include "tracer/valgrind/files/file_calls.h"
#include "tracer/valgrind/files/pool_files.h"
#include "tracer/valgrind/recorder.h"

enum { kMostThreads = 4096 };

/* A thread's call. Other threads may run while the call is in the kernel. */
typedef struct {
  Long offset;   /* where the call reads its file; -1: at the position */
  Int fd;        /* descriptor that the call reads or writes at its position, if it does */
  Long position; /* position of `fd` when the call began */
  ULong stored;  /* pc_stored() when the call began */
} Call;
static Call calls[kMostThreads];

/* Notes the refusal of `what`, which is a constant. */
static void refuse(const HChar* what) {
  HChar text[kPowercutMostText];
  VG_(snprintf)(text, sizeof text, "it used %s, by which a pool may be read unseen", what);
  powercut_stream_note(pc_stream(), kPowercutNoteOther, text);
}

void pc_refuse_code(UWord protection) {
  if (pc_loads && (protection & VKI_PROT_EXEC) != 0) refuse("a pool as code (PROT_EXEC)");
}

/* Returns the descriptor that a call reads from; -1 for a call that reads from none. `*offset`: where, -1: at its
 * position. */
static Int read_from(const powercut_file_call* call, const UWord* args, Long* offset) {
  *offset = -1;
  if (powercut_call_does_what(call) == kPowercutReads) {
    const Int at = powercut_argument(call, 'o');
    if (at >= 0) *offset = (Long)args[at];
    return (Int)args[powercut_argument(call, 'd')];
  }
  if (powercut_call_does_what(call) != kPowercutCopies) return -1;
  const UWord pointer = args[powercut_argument(call, 'i')];
  if (pointer != 0 && VG_(am_is_valid_for_client)(pointer, sizeof *offset, VKI_PROT_READ)) *offset = *(Long*)pointer;
  return (Int)args[powercut_argument(call, 's')];
}

enum { kFiClone = 0x40049409, kFiCloneRange = 0x4020940D };

static void look_at_ioctl(ThreadId tid, const UWord* args) {
  enum {
    kFiDedupeRange = (Int)0xC0189436,
    kTcGets = 0x5401,
    kFiNoRead = 0x541B, /* how much is left to read: the file has one size in all images, or it counts as read */
    kFiNoBlock = 0x5421,
    kFiNoClose = 0x5450,
    kFiClose = 0x5451
  };
  switch ((Int)args[1]) {
    case kFiDedupeRange:
      refuse("an ioctl that compares files"); /* a pool may be one of the files */
      break;
    case kFiClone:
    case kFiCloneRange: /* looked at after the call, if it succeeded */
    case kTcGets:
    case kFiNoRead:
    case kFiNoBlock:
    case kFiNoClose:
    case kFiClose:
      break;
    default:
      if (pc_pool_of(tid, (Int)args[0]) >= 0) refuse("an ioctl on a pool");
      break;
  }
}

/* Refuses a call that moves the bytes behind a range to another place in the file. */
static void look_at_fallocate(ThreadId tid, const UWord* args) {
  enum { kCollapse = 8, kInsert = 32 };
  if ((args[1] & (kCollapse | kInsert)) != 0 && pc_pool_of(tid, (Int)args[0]) >= 0) {
    refuse("fallocate with COLLAPSE_RANGE or INSERT_RANGE");
  }
}

static void look_at_names(const powercut_file_call* call, const UWord* args) {
  const FileNames names = pc_names_of(call, args);
  for (UInt i = 0; i < names.count; ++i) {
    struct vg_stat status;
    HChar what[64];
    if (!pc_file_at(names.folders[i], names.paths[i], &status) || !pc_is_pool(&status)) continue;
    VG_(snprintf)(what, sizeof what, "%s on a pool", call->name);
    refuse(what);
  }
}

/* The kernel reads a program that is executed, and so does Valgrind. */
static void look_at_program(const powercut_file_call* call, const UWord* args) {
  struct vg_stat status;
  const Int folder = powercut_argument(call, 'F');
  const UWord path = args[powercut_argument(call, 'p')];
  if (pc_file_at(folder < 0 ? VKI_AT_FDCWD : (Int)args[folder], path, &status) && pc_is_pool(&status))
    refuse("a pool as a program (exec)");
}

static void look_at_memory_of(Int fd) {
  const HChar* path;
  if (!VG_(resolve_filename)(fd, &path) || VG_(strncmp)(path, "/proc/", 6) != 0) return;
  const SizeT size = VG_(strlen)(path);
  if (size > 4 && VG_(strcmp)(path + size - 4, "/mem") == 0) refuse("/proc/PID/mem");
}

/* Refuses calls that reach the program's memory from elsewhere. */
static void look_at_number(UInt number) {
  if (number == __NR_ptrace) refuse("ptrace");
  if (number == __NR_process_vm_readv || number == __NR_process_vm_writev) {
    refuse("process_vm_readv or process_vm_writev");
  }
  if (number == __NR_remap_file_pages) refuse("remap_file_pages");
}

void pc_reads_pre_syscall(ThreadId tid, UInt number, const UWord* args) {
  const powercut_file_call* known = powercut_file_call_of(number);
  switch (powercut_call_does_what(known)) {
    case kPowercutNoFileCall:
      look_at_number(number);
      break;
    case kPowercutRings:
      refuse("io_uring");
      break;
    case kPowercutSubmits:
      refuse("io_submit");
      break;
    case kPowercutExecutes:
      look_at_program(known, args);
      break;
    case kPowercutAllocates:
      look_at_fallocate(tid, args);
      break;
    case kPowercutControls:
      look_at_ioctl(tid, args);
      break;
    default:
      look_at_names(known, args);
      break;
  }
  if (tid >= kMostThreads) return;
  Call* call = &calls[tid];
  const Int from = read_from(known, args, &call->offset);
  call->fd = from >= 0 && call->offset < 0 ? from : pc_written_to(known, args);
  call->position = call->fd < 0 ? -1 : VG_(lseek)(call->fd, 0, VKI_SEEK_CUR);
  call->stored = pc_stored();
}

Bool pc_moved_alone(ThreadId tid, Int fd, ULong length) {
  if (tid >= kMostThreads || calls[tid].fd != fd || calls[tid].position < 0) return False;
  return VG_(lseek)(fd, 0, VKI_SEEK_CUR) == calls[tid].position + (Long)length;
}

static void read_whole(ThreadId tid, Int pool) {
  if (pool >= 0) powercut_stream_file_read(pc_stream(), pc_site(tid), kPowercutReadSince, (UInt)pool, 0, ~0ull);
}

/* A file has become a copy of another one: the copied file is read. The tool cp tries the call, which some file systems
 * have. */
static void read_by_clone(ThreadId tid, const UWord* args) {
  if ((Int)args[1] == kFiClone) read_whole(tid, pc_pool_of(tid, (Int)args[2]));
  if ((Int)args[1] == kFiCloneRange) read_whole(tid, pc_pool_of(tid, (Int) * (const Long*)args[2]));
}

/* Records that the call has read `length` bytes. Bytes that were stored since the call began may be in the stream
 * before the call. They come from another thread, or from the call itself if it has read into a pool. The record then
 * says that the file may have been read as it was before. */
static void read_by_call(ThreadId tid, const powercut_file_call* known, const UWord* args, ULong length) {
  Long offset;
  const Int fd = read_from(known, args, &offset);
  const Int pool = fd < 0 ? -1 : pc_pool_of(tid, fd);
  if (pool < 0) return;
  if (tid >= kMostThreads) {
    refuse("more than 4096 threads");
    return;
  }
  const Call* call = &calls[tid];
  if (call->offset < 0 && !pc_moved_alone(tid, fd, length)) {
    refuse("the position of a pool's file in two threads");
    return;
  }
  const UInt kind = call->stored == pc_stored() ? kPowercutReadNow : kPowercutReadSince;
  const Long begin = call->offset < 0 ? call->position : call->offset;
  powercut_stream_file_read(pc_stream(), pc_site(tid), kind, (UInt)pool, (ULong)begin, length);
}

void pc_reads_post_syscall(ThreadId tid, const powercut_file_call* known, const UWord* args, UWord value) {
  enum { kSeekData = 3, kSeekHole = 4 };
  Addr begin;
  switch (powercut_call_does_what(known)) {
    case kPowercutOpens:
      look_at_memory_of((Int)value);
      break;
    case kPowercutProtects:
      if (powercut_ranges_clip(pc_ranges(), args[0], args[1], &begin) != 0 ||
          powercut_ranges_clip(pc_views(), args[0], args[1], &begin) != 0) {
        pc_refuse_code(args[2]);
      }
      break;
    case kPowercutControls:
      read_by_clone(tid, args);
      break;
    case kPowercutSeeks:
      /* The places of the holes say which bytes are zeroes. */
      if (args[2] == kSeekData || args[2] == kSeekHole) read_whole(tid, pc_pool_of(tid, (Int)args[0]));
      break;
    default:
      read_by_call(tid, known, args, value);
      break;
  }
}

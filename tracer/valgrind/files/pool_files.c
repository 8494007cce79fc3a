/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/files/pool_files.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_vki.h"
#include "tracer/valgrind/files/device.h"
#include "tracer/valgrind/files/file_pages.h"
#include "tracer/valgrind/recorder.h"
#include "tracer/valgrind/resumed.h"

enum { kMostPools = 64 };

typedef struct {
  const HChar* path; /* empty: the pool is memory that is no file */
  Bool exists;       /* True: the next two are the file's */
  ULong device, inode;
  ULong size;
  Bool named;
} PoolFile;

static PoolFile pools[kMostPools];
static UInt pool_count, named_count;

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

UInt pc_pool_count(void) { return pool_count; }

const HChar* pc_pool_path(UInt pool) { return pools[pool].path; }

void pc_pools_begin(void) {
  const Bool resumed = pc_resumed.fd >= 0;
  /* The program before this one had registered memory as pools. */
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
      /* The pool may have been made, or replaced, since the last look. */
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
  /* A variable of a program or library is no file: a library registers its variable to find out whether anybody
   * listens. */
  if (!always && VG_(DebugInfo_sect_kind)(NULL, address) != Vg_SectUnknown) return;
  if (pc_has_device() || (named_count != 0 && !always)) {
    /* A library tells of every file that it maps; the user has said which files count. */
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
  /* The present contents of the range are those that the program has started from. */
  for (ULong at = 0; at < length; at += kFilePage) {
    pc_content_page(pool, offset + at, (const UChar*)(address + at),
                    length - at < kFilePage ? (UInt)(length - at) : kFilePage);
  }
  pc_map(pool, address, length, offset);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/runs.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_vki.h"
#include "tracer/valgrind/core.h"
#include "tracer/valgrind/files/pool_files.h"
#include "tracer/valgrind/recorder.h"

enum { kMostCode = 1 << 16 };

const HChar* pc_stream_path;

static Bool serving, running;
static Int code_fd = -1; /* holds `code` of the last run: the run writes it, the server reads it */
static struct {
  UWord count;
  Addr addresses[kMostCode];
} code; /* addresses that a run has translated */

/* Returns a file without a name: only such a file outlives a run and is seen by the server. */
static Int nameless_file(void) {
  HChar path[kPowercutMostText];
  VG_(snprintf)(path, sizeof path, "%s.code", pc_stream_path);
  const SysRes file = VG_(open)(path, VKI_O_RDWR | VKI_O_CREAT | VKI_O_TRUNC, 0600);
  if (sr_isError(file)) return -1;
  VG_(unlink)(path);
  return VG_(safe_fd)((Int)sr_Res(file));
}

Bool pc_serve(void) {
  if (!pc_loads || !pc_recording() || !pc_recorder_untouched()) return False;
  pc_recorder_abandon();
  code_fd = nameless_file();
  serving = True;
  return True;
}

Bool pc_serving(void) { return serving; }

void pc_begin_run(void) {
  if (!serving) return;
  serving = False;
  running = True;
  pc_recorder_open(pc_stream_path);
  pc_pools_begin();
}

void pc_translated(Addr address) {
  if (running && code.count < kMostCode) code.addresses[code.count++] = address;
}

void pc_end_run(void) {
  if (!running || code_fd < 0) return;
  running = False;
  const Int size = (Int)(sizeof code.count + code.count * sizeof *code.addresses);
  if (VG_(lseek)(code_fd, 0, VKI_SEEK_SET) == 0) VG_(write)(code_fd, &code, size);
}

/* Returns whether the server may translate the code. A translation is made of the bytes that the server has at the
 * address, and is thrown away with their mapping. The translation is therefore right for each run that still has these
 * bytes, whatever bytes the run that asked for it had there. */
static Bool can_translate(Addr address) {
  Addr host;
  const NSegment* segment = VG_(am_find_nsegment)(address);
  return segment != NULL && segment->kind == SkFileC && segment->hasX && !segment->hasW &&
         !VG_(search_transtab)(&host, NULL, NULL, address, False);
}

void pc_before_fork(ThreadId tid) {
  if (!serving || code_fd < 0 || VG_(lseek)(code_fd, 0, VKI_SEEK_SET) != 0) return;
  const Int size = VG_(read)(code_fd, &code, sizeof code);
  for (UWord i = 0; i < code.count && (i + 2) * sizeof *code.addresses <= (UWord)size; ++i) {
    if (can_translate(code.addresses[i])) VG_(translate)(tid, code.addresses[i], False, 0, 0, True);
  }
  code.count = 0;
}

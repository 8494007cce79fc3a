/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/exec.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_vki.h"
#include "pub_tool_xarray.h"
#include "tracer/valgrind/core.h"
#include "tracer/valgrind/pool_files.h"
#include "tracer/valgrind/recorder.h"
#include "tracer/valgrind/stacks.h"

Resumed pc_resumed = {-1, 0, 0, 0, 0, -1};

Bool pc_resume_option(const HChar* value) {
  Long numbers[6];
  for (UInt i = 0; i < 6; ++i) {
    HChar* end;
    numbers[i] = VG_(strtoll10)(value, &end);
    if (end == value || *end != (i < 5 ? ':' : '\0')) return False;
    value = end + 1;
  }
  const Resumed resumed = {(Int)numbers[0],  (UInt)numbers[1], (UInt)numbers[2],
                           (UInt)numbers[3], (UInt)numbers[4], (Int)numbers[5]};
  pc_resumed = resumed;
  return True;
}

void pc_before_exec(ThreadId tid) {
  static HChar option[128];
  const Bool first = option[0] == '\0';
  const HChar* given = option;
  if (!VG_(clo_trace_children)) {
    powercut_stream_note(pc_stream(), kPowercutNoteExec,
                         "the program replaced itself (exec): the new one was not recorded");
  }
  powercut_stream_flush(pc_stream());
  VG_(snprintf)(option, sizeof option, "--resume=%d:%u:%u:%u:%u:%d", pc_recorder_fd(), pc_pool_count(), pc_modules(),
                pc_stacks(), pc_threads(), pc_thread_number(tid));
  /* The last one of the list counts. */
  if (first) VG_(addToXA)(VG_(args_for_valgrind), &given);
  VG_(fcntl)(pc_recorder_fd(), VKI_F_SETFD, 0);
}

void pc_exec_failed(void) { VG_(fcntl)(pc_recorder_fd(), VKI_F_SETFD, VKI_FD_CLOEXEC); }

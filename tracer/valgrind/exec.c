/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/exec.h"

#include "pub_tool_libcprint.h"
#include "pub_tool_xarray.h"
#include "tracer/valgrind/core.h"
#include "tracer/valgrind/files/pool_files.h"
#include "tracer/valgrind/recorder.h"
#include "tracer/valgrind/stacks.h"

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
  /* The last --resume of the list counts. */
  if (first) VG_(addToXA)(VG_(args_for_valgrind), &given);
  pc_recorder_closes_on_exec(False);
}

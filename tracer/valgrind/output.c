/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/output.h"

#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_vki.h"

static Bool asked;
static struct {
  HChar path[kPowercutMostText];
  ULong size;
} files[2];

void pc_output_named(const HChar* folder) {
  asked = True;
  VG_(snprintf)(files[0].path, sizeof files[0].path, "%s/stdout", folder);
  VG_(snprintf)(files[1].path, sizeof files[1].path, "%s/stderr", folder);
}

void pc_output_look(powercut_stream* stream) {
  struct vg_stat status;
  if (!asked) return;
  for (UInt i = 0; i < 2; ++i) {
    if (sr_isError(VG_(stat)(files[i].path, &status)) || (ULong)status.size == files[i].size) continue;
    files[i].size = (ULong)status.size;
    powercut_stream_output(stream, kPowercutStdout + i, files[i].size);
  }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/files/untold_writes.h"

#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "tracer/valgrind/recorder.h"

enum { kBits = 64, kWord = 8 };

static void written(ThreadId tid, UWord address, SizeT size) {
  if (address != 0) pc_kernel_write(Vg_CoreSysCall, tid, address, size);
}

void pc_untold_writes(ThreadId tid, UInt number, const UWord* args) {
  switch (number) {
    case __NR_select:
    case __NR_pselect6:
      for (UInt set = 1; set <= 3; ++set) written(tid, args[set], (args[0] + kBits - 1) / kBits * kWord);
      written(tid, args[4], sizeof(struct vki_timeval)); /* the rest of the time */
      break;
    case __NR_copy_file_range:
    case __NR_splice:
      written(tid, args[1], sizeof(ULong));
      written(tid, args[3], sizeof(ULong));
      break;
    default:
      break;
  }
}

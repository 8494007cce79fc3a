/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/resumed.h"

#include "pub_tool_libcbase.h"

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

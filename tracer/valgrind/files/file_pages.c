/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/files/file_pages.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_vki.h"
#include "tracer/valgrind/recorder.h"

const UChar pc_zeros[kFilePage];

void pc_content_page(UInt pool, ULong offset, const UChar* bytes, UInt size) {
  if (VG_(memcmp)(bytes, pc_zeros, size) != 0) powercut_stream_content(pc_stream(), pool, offset, bytes, size);
}

void pc_each_page(const HChar* path, ULong offset, ULong end, FilePage* visit, UInt pool) {
  enum { kSeekData = 3, kBuffer = 64 * kFilePage };
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
    for (UInt at = 0; at < (UInt)got; at += kFilePage) {
      visit(pool, offset + at, buffer + at, (UInt)got - at < kFilePage ? (UInt)got - at : kFilePage);
    }
    offset += (ULong)got;
  }
  VG_(close)(file);
}

void pc_file_content(UInt pool, const HChar* path, ULong size) { pc_each_page(path, 0, size, pc_content_page, pool); }

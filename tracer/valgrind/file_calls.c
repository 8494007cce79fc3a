/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/file_calls.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_vkiscnums.h"
#include "tracer/stream/stream.h"
#include "tracer/valgrind/core.h"

Int pc_written_to(UInt number, const UWord* args) {
  switch (number) {
    case __NR_write:
    case __NR_writev:
    case __NR_pwrite64:
    case __NR_pwritev:
    case __NR_pwritev2:
    case __NR_sendfile:
    case __NR_fallocate:
      return (Int)args[0];
    case __NR_copy_file_range:
    case __NR_splice:
      return (Int)args[2];
    default:
      return -1;
  }
}

Long pc_written_at(Int fd, Long offset, ULong length, Bool append) {
  struct vg_stat status;
  if (append || (VG_(fcntl)(fd, VKI_F_GETFL, 0) & VKI_O_APPEND) != 0) {
    return VG_(fstat)(fd, &status) == 0 ? status.size - (Long)length : 0;
  }
  return offset < 0 ? VG_(lseek)(fd, 0, VKI_SEEK_CUR) - (Long)length : offset;
}

FileNames pc_names_of(UInt number, const UWord* args) {
  const Int here = VKI_AT_FDCWD;
  switch (number) {
    case __NR_rename:
    case __NR_link: {
      const FileNames two = {number == __NR_rename ? "rename" : "link", {here, here}, {args[0], args[1]}, 2};
      return two;
    }
    case __NR_renameat:
    case __NR_renameat2:
    case __NR_linkat: {
      const HChar* call = number == __NR_linkat ? "linkat" : "renameat";
      const FileNames two = {call, {(Int)args[0], (Int)args[2]}, {args[1], args[3]}, 2};
      return two;
    }
    case __NR_unlink: {
      const FileNames one = {"unlink", {here, here}, {args[0], 0}, 1};
      return one;
    }
    case __NR_unlinkat: {
      const FileNames one = {"unlinkat", {(Int)args[0], here}, {args[1], 0}, 1};
      return one;
    }
    default: {
      const FileNames none = {NULL, {here, here}, {0, 0}, 0};
      return none;
    }
  }
}

Bool pc_file_at(Int folder, UWord path, struct vg_stat* status) {
  const HChar* text = (const HChar*)path;
  const HChar* base;
  HChar whole[kPowercutMostText];
  if (!VG_(am_is_valid_for_client)(path, 1, VKI_PROT_READ)) return False;
  if (*text == '\0') return VG_(fstat)(folder, status) == 0; /* AT_EMPTY_PATH */
  if (folder != VKI_AT_FDCWD && *text != '/') {
    if (!VG_(resolve_filename)(folder, &base)) return False;
    VG_(snprintf)(whole, sizeof whole, "%s/%s", base, text);
    text = whole;
  }
  return !sr_isError(VG_(stat)(text, status));
}

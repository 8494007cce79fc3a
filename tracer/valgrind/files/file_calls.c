/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/valgrind/files/file_calls.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "tracer/stream/stream.h"
#include "tracer/valgrind/core.h"

Int pc_written_to(const powercut_file_call* call, const UWord* args) {
  switch (powercut_call_does_what(call)) {
    case kPowercutWrites:
    case kPowercutCopies:
    case kPowercutAllocates:
      return (Int)args[powercut_argument(call, 'd')];
    default:
      return -1;
  }
}

Long pc_written_from(const powercut_file_call* call, const UWord* args, ULong length) {
  const Int offset = powercut_argument(call, 'o'), pointer = powercut_argument(call, 'e');
  if (offset >= 0) return (Long)args[offset];
  return pointer < 0 || args[pointer] == 0 ? -1 : (Long)(*(const ULong*)args[pointer] - length);
}

Long pc_written_at(Int fd, Long offset, ULong length, Bool append) {
  struct vg_stat status;
  if (append || (VG_(fcntl)(fd, VKI_F_GETFL, 0) & VKI_O_APPEND) != 0) {
    return VG_(fstat)(fd, &status) == 0 ? status.size - (Long)length : 0;
  }
  return offset < 0 ? VG_(lseek)(fd, 0, VKI_SEEK_CUR) - (Long)length : offset;
}

static Int folder_of(const powercut_file_call* call, const UWord* args, char role) {
  const Int folder = powercut_argument(call, role);
  return folder < 0 ? VKI_AT_FDCWD : (Int)args[folder];
}

FileNames pc_names_of(const powercut_file_call* call, const UWord* args) {
  const FileNames none = {{0, 0}, {0, 0}, 0};
  switch (powercut_call_does_what(call)) {
    case kPowercutRenames:
    case kPowercutLinks: {
      const FileNames two = {{folder_of(call, args, 'F'), folder_of(call, args, 'G')},
                             {args[powercut_argument(call, 'p')], args[powercut_argument(call, 'q')]},
                             2};
      return two;
    }
    case kPowercutTakes: {
      const FileNames one = {{folder_of(call, args, 'F'), 0}, {args[powercut_argument(call, 'p')], 0}, 1};
      return one;
    }
    default:
      return none;
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

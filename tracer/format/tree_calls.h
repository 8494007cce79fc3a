// Calls on trees: what a program did to the folder whose files are judged. FORMAT.md, "Calls on trees", has the bytes.
//
// A call stands in the trace by its effect: an inode has a number, and names of folders lead to inodes. An Event's
// `pool` is an inode. Its `addr` is an offset or a folder's inode; its `size` a length or the second folder's inode.
// Its `key` is a name, its `value` bytes or a second name, its `text` the name of the system call.
#ifndef POWERCUT_TRACER_FORMAT_TREE_CALLS_H_
#define POWERCUT_TRACER_FORMAT_TREE_CALLS_H_

#include <cstdint>
#include <span>

#include "tracer/format/trace.h"

namespace powercut {

enum class TreeCall : uint8_t {
  kInode = 0,        // pool, flags = InodeKind, value = target of a link. An inode without a name
  kContent = 1,      // pool, addr, value: bytes of a file before the program
  kEntry = 2,        // addr, key, pool: a name before the program
  kStarted = 3,      // the tree of the start is whole, and durable
  kCreate = 4,       // addr, key, pool, flags = InodeKind, value = target of a link
  kLink = 5,         // addr, key, pool
  kUnlink = 6,       // addr, key; of a file or a folder
  kRename = 7,       // addr, key -> size, value; flags: 1 the two change places
  kWrite = 8,        // pool, addr, value; flags below
  kSize = 9,         // pool, size
  kAllocate = 10,    // pool, addr, size, flags = mode of fallocate
  kSync = 11,        // pool, flags = TreeSync and 16 times the call's flags; addr, size: the range
  kSyncAll = 12,     // all files
  kAttributes = 13,  // pool: mode, owner, times or extended attributes
  kNote = 14,        // flags = TreeNote, value = a sentence for people
  kEnded = 15,       // flags: 0 exit, 1 signal; size: the status or the signal
};
inline constexpr TreeCall kLastTreeCall = TreeCall::kEnded;

enum class InodeKind : uint8_t { kFile = 1, kFolder = 2, kLink = 3 };
inline constexpr uint64_t kTreeRoot = 1;  // the number of the folder itself

// Flags of a write.
inline constexpr uint8_t kThroughData = 1;  // durable with the size when it returned: O_DSYNC, RWF_DSYNC
inline constexpr uint8_t kThroughAll = 2;   // the inode as well: O_SYNC, RWF_SYNC
inline constexpr uint8_t kByMapping = 4;    // a store through a shared mapping, found by comparing
inline constexpr uint8_t kTreeContinues = kStoreContinues;  // a further piece of the write before it

// kRange: sync_file_range, whose flags tell more. kMapped: msync; its flags tell whether it waited.
enum class TreeSync : uint8_t { kFile = 0, kData = 1, kRange = 2, kMapped = 3 };
inline constexpr int kSyncFlagsShift = 4;

// kUnknown: the recording missed something, and no verdict on it is clean. kIncomplete: as kUnknown, but another
// tracer sees it. kTold: nothing was missed.
enum class TreeNote : uint8_t { kTold = 0, kUnknown = 1, kIncomplete = 2 };

// A field of a record, in the order in which the record has them.
enum class TreeField : uint8_t { kInode, kFlags, kPlace, kSize, kName, kValue };

inline std::span<const TreeField> fields_of(TreeCall call) {
  using enum TreeField;
  static constexpr TreeField inode[] = {kInode, kFlags, kValue}, bytes[] = {kInode, kPlace, kValue},
                             entry[] = {kPlace, kName, TreeField::kInode},
                             create[] = {kPlace, kName, kInode, kFlags, kValue}, unlink[] = {kPlace, kName},
                             rename[] = {kPlace, kName, TreeField::kSize, kValue, kFlags},
                             write[] = {kInode, kPlace, kFlags, kValue}, size[] = {kInode, TreeField::kSize},
                             range[] = {kInode, kFlags, kPlace, TreeField::kSize}, note[] = {kFlags, kValue},
                             ended[] = {kFlags, TreeField::kSize};
  switch (call) {
    case TreeCall::kInode:
      return inode;
    case TreeCall::kContent:
      return bytes;
    case TreeCall::kEntry:
    case TreeCall::kLink:
      return entry;
    case TreeCall::kCreate:
      return create;
    case TreeCall::kUnlink:
      return unlink;
    case TreeCall::kRename:
      return rename;
    case TreeCall::kWrite:
      return write;
    case TreeCall::kSize:
      return size;
    case TreeCall::kAllocate:
    case TreeCall::kSync:
      return range;
    case TreeCall::kAttributes:
      return std::span(inode).first(1);
    case TreeCall::kNote:
      return note;
    case TreeCall::kEnded:
      return ended;
    case TreeCall::kStarted:
    case TreeCall::kSyncAll:
      return {};
  }
  return {};
}

// Whether the value of the call is bytes of a file.
constexpr bool has_bytes(TreeCall call) { return call == TreeCall::kContent || call == TreeCall::kWrite; }
// Whether addr and size are a range of a file.
constexpr bool has_range(TreeCall call) { return call == TreeCall::kAllocate || call == TreeCall::kSync; }

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_TREE_CALLS_H_

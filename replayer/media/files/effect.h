// An effect of a call on the tree, as the model takes it: from a trace, or from a program of a test.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_EFFECT_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_EFFECT_H_

#include <cstdint>
#include <string>

#include "base/json_field.h"
#include "tracer/format/tree_calls.h"

namespace powercut::files {

enum class EffectKind : uint8_t {
  kInode,    // without a name: of the start, or of O_TMPFILE
  kContent,  // of a file of the start: bytes, and how large the file is at least
  kEntry,    // of the start
  kCreate,
  kLink,
  kUnlink,
  kRename,
  kWrite,
  kSize,
  kAllocate,
  kSync,
  kSyncAll,
  kAttributes,
  kBegin,  // of an operation
  kEnd,
};

enum class Through : uint8_t { kNone, kData, kAll };               // of a write: O_DSYNC, O_SYNC
enum class SyncKind : uint8_t { kFile, kData, kRange, kStarted };  // kStarted: makes nothing durable
enum class Allocation : uint8_t { kExtend, kKeep, kPunch, kZero, kZeroKeep };

struct Effect {
  EffectKind kind{};
  uint64_t inode = 0;
  uint64_t folder = 0;
  std::string name;
  uint64_t to_folder = 0;  // of a rename
  std::string to_name;
  bool exchange = false;
  InodeKind inode_kind = InodeKind::kFile;
  std::string target;  // of a symbolic link
  uint64_t offset = 0;
  uint64_t size = 0;  // of a range in bytes, or the new size
  std::string data;   // of a write, or of an inode of the start
  Through through = Through::kNone;
  SyncKind sync = SyncKind::kFile;
  Allocation allocation = Allocation::kExtend;

  // Whether the call can raise a floor.
  bool is_sync() const { return kind == EffectKind::kSync || kind == EffectKind::kSyncAll; }
};

// Reads a call of the reference's form (calls.py beside this). Throws Malformed.
Effect effect_of(const JsonField& json);

// The sync that a write through O_DSYNC or O_SYNC ends with.
inline Effect sync_of_write(const Effect& write) {
  Effect sync;
  sync.kind = EffectKind::kSync;
  sync.inode = write.inode;
  sync.offset = write.offset;
  sync.size = write.data.size();
  sync.sync = write.through == Through::kData ? SyncKind::kRange : SyncKind::kFile;
  return sync;
}

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_EFFECT_H_

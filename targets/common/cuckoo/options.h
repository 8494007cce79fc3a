// Options of a run of a cuckoo scheme (its target.cc has the table), and the constants that distinguish the schemes of
// the family.
#ifndef POWERCUT_TARGETS_COMMON_CUCKOO_OPTIONS_H_
#define POWERCUT_TARGETS_COMMON_CUCKOO_OPTIONS_H_

#include <cstdint>

namespace powercut {
template <typename Options>
class OptionTable;
}

namespace powercut::cuckoo {

// Each bug is a small change of `hardened` at the place that tests for it. A scheme lists the bugs that it can show.
enum class Bug : uint8_t {
  kNone,
  // The token is set before the item is durable.
  kInsertUnordered,
  kPathEndUnordered,  // of the new item, in the slot that the path has freed
  kMoveUnordered,
  kUpdateUnordered,
  kStashUnordered,
  kStashUnflushed,     // the token of the stash is never written back
  kKickOut,            // evictions go forward: the new item overwrites the first victim, and so on
  kMoveClearFirst,     // movement: the old slot is cleared before the new one is set
  kMoveDuplicate,      // movement makes a third copy of an item that has two
  kUnstashClearFirst,  // an item leaves the stash before it is in the bucket
  kEraseFirstCopy,     // erase clears one of two copies
  kUpdateFirstCopy,    // update changes one of two copies
  kUpdateTwoWrites,    // log-free update: old token cleared, then new token set
  kLogUnordered,       // the undo log is valid before it holds the old item
  kLogClearedEarly,    // the undo log is cleared before the new value is durable
  kLogNotReplayed,     // open ignores the undo log
  kRehashClearFirst,   // rehash: the old slot is cleared before the new one is set
  kRehashNotFinished,  // open detaches the table that a cut rehash was emptying
  kDescriptorLate,     // the new table is named before its place is known
  kResizeEarly,        // the new table is published before its items are durable
  kFreeEarly,          // the old table is freed before the new one is published
  kLeakTable,          // open does not free what nobody reaches
  kHeaderNotFlushed,   // format flushes the address of a local
  kFlushFirstLine,     // a slot that straddles two lines: only the first is flushed
  kTagLate,            // the tag is written after the token
  // Of concurrency=concurrent: only threads can show them.
  kLookupUnlocked,     // search takes no lock
  kLookupBucketwise,   // search locks one of the two buckets after the other
  kUnlockBeforeFlush,  // update lets go of its locks before the value is durable
  kExistsUnlocked,     // insert answers EXISTS for what it saw without a lock
  kInsertCheckApart,   // insert lets go of its locks between looking for its key and placing it
  kPathStale,          // a path's steps are not looked at again under the locks
  kPathKeyStale,       // insert does not look for its key again after it has emptied a slot
  kPathEndUnlocked,    // insert lets go of the slot that its path has emptied, and fills it later
  kResizeUnnoticed,    // a path is followed in the table in which it was found, though it was replaced
  kMoveLocksOne,       // movement locks the bucket that the item leaves, and not the one that takes it
  kLockNotAtomic,      // a lock is taken by a load and a store
  kLockInPool,         // the locks lie in the headers of the buckets, and open does not reset them (no resize)
  kUndoLogShared,      // two updates use the undo log at the same time
  kCopyBeside,         // a resize lets operations in while it copies
  kPublishUnlocked,    // a resize lets operations in before it publishes the new table
  kCount
};

enum class Search : uint8_t { kWalk, kBreadthFirst };
enum class UpdateBy : uint8_t { kOpportunistic, kLogged, kInplace, kCount };

inline constexpr uint32_t kMostSteps = 500;  // evictions of a walk, buckets of a breadth-first search
inline constexpr uint32_t kMostSlots = 16;
inline constexpr uint32_t kMostDepth = 5;  // evictions of a breadth-first path

struct Options {
  bool hardened;
  bool kick_out;           // the new item overwrites the first victim, which is carried on
  bool treats_duplicates;  // update deletes one copy before it changes the other
  bool bare_update;        // update in place, whatever the size of the value
  bool rehash;             // resize moves items one by one, both tables attached; else it copies the table
  bool unstash;
  bool auto_expand;
  bool concurrent;  // any number of threads use the open table (libcuckoo)
  bool tags;
  bool wide;  // 16-byte keys, values of up to 15; else 8 and 8
  Search search;
  UpdateBy update;
  Bug bug;
  uint8_t log2;  // buckets of each table
  uint8_t tables = 1;
  uint8_t slots;
  uint8_t stash;  // slots of the stash
  uint16_t limit;
  uint8_t key_size;
  uint8_t value_size;
};

// A member of the family.
struct Scheme {
  const char* name;
  const OptionTable<Options>* options;
  Search search;
  bool made_for_dram = false;  // `published` updates in place without a log and knows of no duplicates
  bool kicks_out = false;      // `published` evicts while it searches
  bool tags = false;  // partial keys in the bucket's header; the second bucket follows from the first and the tag
};

// The scheme of this library; its folder defines it.
extern const Scheme kScheme;

}  // namespace powercut::cuckoo
#endif  // POWERCUT_TARGETS_COMMON_CUCKOO_OPTIONS_H_

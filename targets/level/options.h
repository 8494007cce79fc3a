// Options of a run (target.cc has the table): variant, shape of the table, the alternatives that the paper compares,
// and the planted bug (scenarios/known_bugs/level).
#ifndef POWERCUT_TARGETS_LEVEL_OPTIONS_H_
#define POWERCUT_TARGETS_LEVEL_OPTIONS_H_

#include <cstdint>

#include "targets/common/scheme_table.h"

namespace powercut::level {

// Each bug is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  // The token is set before the item is durable.
  kInsertTopUnordered,
  kInsertBottomUnordered,
  kInsertAfterMoveUnordered,
  kMoveUnordered,
  kB2tUnordered,
  kUpdateUnordered,
  kRehashClearFirst,     // rehash: the old slot is cleared before the new one is set
  kExpandCapacityFirst,  // the new size is published before the place of the new level
  kExpandUninitialised,  // the new level is published before its tokens are zeroed
  kShrinkTwoPointers,    // top and bottom are switched in two writes
  kEraseFirstCopy,       // erase clears one of two copies
  kUpdateFirstCopy,      // update changes one of two copies
  kUpdateTwoWrites,      // log-free update: old token cleared, then new token set
  kFlushWrongToken,      // the token of the sibling bucket is flushed
  kFlushFirstLine,       // a slot that straddles two lines: only the first is flushed
  kMoveClearFirst,       // movement: the old slot is cleared before the new one is set
  kLogUnordered,         // the undo log is valid before it holds the old item
  kLogClearedEarly,      // the undo log is cleared before the new value is durable
  kLogNotReplayed,       // open ignores the undo log
  kHeaderNotFlushed,     // format flushes the address of a local
  kLeakNewLevel,         // open does not free what nobody reaches
  // Bugs of concurrency=concurrent: only threads can show them.
  kTokenNotAtomic,     // a token is set by a load and a store of the header that its bucket shares
  kLookupUnlocked,     // search takes no lock
  kUnlockBeforeCopy,   // search lets go of its locks before it copies the value
  kUnlockBeforeFlush,  // update lets go of its locks before its token is durable
  kInsertCheckApart,   // insert lets go of its key between looking for it and placing it
  kExistsUnlocked,     // insert answers EXISTS for what it saw without a lock
  kMoveUnowned,        // movement does not own the item that it moves
  kMoveStaleCopy,      // movement copies the item before it owns it
  kMoveErased,         // movement does not look again whether the item is still there
  kMoveLocksFull,      // movement waits for slots that are taken while it holds one
  kLockInPool,         // the slot locks lie beside the tokens, and open does not reset them (8x8, slots=4)
  kUndoLogShared,      // two updates share the undo log
  kExpandUnlocked,     // an expansion that an insert needs takes no lock
  kRehashBeside,       // a resize lets operations in while it rehashes
  kCount
};

// The bugs of target level_ptr, whose items lie out of the table.
enum class ItemBug : uint8_t {
  kNone,
  kInsertUnordered,   // insert: the token is set before the item is durable
  kUpdateUnordered,   // update: the pointer is switched before the new item is durable
  kFlushFirstLine,    // an item is longer than a line, and only its first line is flushed
  kUpdateFreesFirst,  // update: the old item is freed before the pointer is switched
  kEraseFreesFirst,   // erase: the item is freed before its token is cleared
  kEraseFirstCopy,    // erase: frees the item that two slots point to, and clears one of them
  kOverwriteLength,   // update: a value that fits is written over the old one, its length first
  kOverwriteBytes,    // update: a value that fits is written over the old one, its length last
  kItemsNotSwept,     // open does not free items that no slot points to
  // Bugs of concurrency=concurrent.
  kInsertNotUnique,    // insert lets go of its key between looking for it and placing it
  kValueUnlocked,      // search lets go of its locks before it copies the value
  kAllocatorUnlocked,  // two threads may allocate at the same time
  kFreedByHint,        // update frees the item that it saw before it had the slot
  kCount
};

enum class Layout : uint8_t { kAuto, k16x15, k8x8, kCount };

struct Options : SchemeOptions {
  bool opportunistic;
  bool traditional;
  bool b2t;
  bool dynamic_search;
  bool late_movement;
  bool halves;  // the two hash functions address a half of a level each
  bool auto_expand;
  bool concurrent = false;
  bool port = false;    // of clevel's authors (target level_ptr)
  uint8_t threads = 1;  // that meet at the barrier of the port
  Bug bug = Bug::kNone;
  ItemBug item_bug = ItemBug::kNone;
  Layout layout = Layout::kAuto;
  uint8_t wide = 1;  // layout 16x15; 0: layout 8x8
  uint8_t slots;
  uint8_t top_log2;
};

}  // namespace powercut::level
#endif  // POWERCUT_TARGETS_LEVEL_OPTIONS_H_

// Options of a run (target.cc has the table): variant, shape of the table, how a segment splits, and the planted bug
// (scenarios/known_bugs/cceh).
#ifndef POWERCUT_TARGETS_CCEH_OPTIONS_H_
#define POWERCUT_TARGETS_CCEH_OPTIONS_H_

#include <cstdint>

#include "targets/common/scheme_table.h"

namespace powercut::cceh {

// Where an item lies. A pointer names a block with the item (ItemHeader).
enum class Items : uint8_t {
  kSlot,         // key and value, 8 bytes each, are in the slot
  kPointer,      // the slot holds the key's hash and a pointer
  kTransaction,  // the same, and each change of a slot is an undo transaction
  kCount
};

// Each bug is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  kDepthBeforeDirectory,      // split: depth and pattern of the old segment change before the directory does
  kPatternBeforeDirectory,    // split: the pattern alone does
  kPatternApart,              // split: depth, then pattern, in two writes
  kSentinelLeaks,             // insert claims a slot by the sentinel; nobody takes it back after a crash
  kLockNotReset,              // open leaves the lock words of the segments as they are
  kFormatSegmentsUnflushed,   // format does not flush the segments
  kFormatEntriesUnflushed,    // format does not flush the directory's entries
  kFormatDirectoryUnflushed,  // format does not flush the directory object
  kDoublingUnflushed,         // doubling publishes the new directory unflushed
  kDoublingDepthApart,        // doubling publishes the capacity first and the depth later
  kDoublingFreesFirst,        // doubling frees the old directory before it publishes the new one
  kFlushHomeLine,             // insert flushes the home bucket, wherever the item went
  kKeyBeforeValue,            // insert stores the key first
  kUpdateUnflushed,           // update does not flush
  kEraseUnflushed,            // erase does not flush
  kSplitUnflushed,            // split publishes the new segment unflushed
  kSplitDepthUnflushed,       // split does not flush the old segment's new depth
  kSplitClearsFirst,          // split invalidates the moved keys before the directory names their new segment
  kCowLowerFirst,             // copy-on-write: the lower half of the entries changes first
  kCowFreesFirst,             // copy-on-write: the old segment is freed before the directory lets go of it
  kRecoveryOmitted,           // open does not reconcile the directory
  kRecoveryLastSegment,       // open does not reconcile the last segment
  kLeakSegment,               // open does not free what nobody reaches
  // Bugs of concurrency=concurrent.
  kGetUnlocked,             // a get takes no lock of its segment
  kUnlockBeforeCopy,        // a get leaves its segment before it reads the value
  kUnlockBeforeFlush,       // update leaves the segment before its value is durable
  kEraseUnlockedEarly,      // erase leaves the segment before it is durable
  kLockLoadThenStore,       // a get takes its lock by a load and a store
  kCountedIntoChange,       // a get counts itself in whatever the lock says
  kInsertCheckApart,        // insert lets go of the segment between looking for its key and placing it
  kInsertsShare,            // inserts share the segment, and do not claim their slots
  kSegmentStale,            // an operation does not look whether the segment that it waited for is still its own
  kDirectoryReadEarly,      // operations take the directory from the root, without its lock
  kDirectoryUnlocked,       // splits change the directory without its lock
  kDirectoryUnlockedEarly,  // a split gives the directory back before its commit is durable
  // Bugs of items out of the slots.
  kItemUnordered,         // insert, update: the slot points to the item before the item is durable
  kItemFirstLine,         // insert, update: only the first line of an item is flushed
  kItemOldSize,           // update: as many bytes of the new item are flushed as the old one has
  kItemSizesLate,         // insert, update: the sizes are stored when the item is durable, and not flushed
  kOverwriteLength,       // update: a value that fits is overwritten in place, its length first
  kOverwriteBytes,        // update: a value that fits is overwritten in place, its length last
  kItemUpdateFreesFirst,  // update: the old item is freed before the slot points to the new one
  kItemEraseFreesFirst,   // erase: the item is freed before its slot is
  // Bugs of items=transaction.
  kLogUnordered,     // the slot changes before the log is durable
  kLogClearedEarly,  // the log is cleared before the change is durable
  kLogNotReplayed,   // open does not undo the change in the log
  kLogShared,        // threads use the log at the same time
  // Bugs of hash=double.
  kSplitProbesAgain,  // split: items look for a slot again, and those that find none are dropped
  kCount
};

struct Options : SchemeOptions {
  bool cow;
  bool double_hashing;
  bool concurrent;
  Items items;
  Bug bug;
  uint8_t probe;  // cache lines
  uint8_t depth;  // initial global depth
  uint32_t slots;

  bool has_pointers() const { return items != Items::kSlot; }
};

}  // namespace powercut::cceh
#endif  // POWERCUT_TARGETS_CCEH_OPTIONS_H_

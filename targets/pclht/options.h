// Options of a run (target.cc has the table): variant, shape of the table, and the planted bug
// (scenarios/known_bugs/pclht).
#ifndef POWERCUT_TARGETS_PCLHT_OPTIONS_H_
#define POWERCUT_TARGETS_PCLHT_OPTIONS_H_

#include <cstdint>

#include "targets/common/scheme_table.h"

namespace powercut::pclht {

// The contents of an entry.
enum class Items : uint8_t {
  kWords,    // a key and a value of 8 bytes, as in the authors' code
  kInline,   // a key and a value of up to 15 bytes: CLHT30 of the paper on TurboHash
  kPointer,  // a pointer to an item of any size: the port of the authors of clevel hashing
  kCount
};

// Each bug is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  kKeyBeforeValue,        // insert: the key is durable before the value that it vouches for
  kChainUnflushed,        // insert: a new chained bucket is linked before it is durable
  kLinkUnflushed,         // insert: the link to a new chained bucket is not flushed
  kUpdateUnflushed,       // update: the new value is not flushed
  kEraseUnflushed,        // erase: the cleared key is not flushed
  kHashTableUnflushed,    // format: the hash table object is not flushed
  kRootUnflushed,         // format: the root is not flushed
  kResizeTableUnflushed,  // resize: the buckets of the new table are not flushed
  kResizeChainUnflushed,  // resize: the chained buckets of the new table are not flushed
  kRootSwapUnflushed,     // resize: the new table is published by a plain store without a flush
  kPublishFirst,          // resize: the new table is published before it is durable
  kFreeBeforePublish,     // resize: the old table is freed before the new one is published
  kOldestNotPersisted,    // open goes on freeing at the root's pointer to the oldest table, which is never flushed
  kLocksNotReset,         // open leaves the locks of the buckets as it finds them
  kNoSweep,               // open does not free what nobody reaches
  // With threads only:
  kTableReadEarly,         // operations take the table from the root, where it stands before it is durable
  kTableVisibleEarly,      // resize: other threads get the new table before it is durable
  kGetUnpersisted,         // get answers what it read though the writer may not have flushed it
  kRaceNotFound,           // get answers NOT_FOUND when the value changes while it reads
  kKeyReadOnce,            // get does not look again whether the value that it read was that of its key
  kUnlockBeforeFlush,      // update: the lock is free before the value is durable
  kInsertCheckedUnlocked,  // insert looks for its key before it locks, and not again
  kSlotFoundUnlocked,      // update, erase: the entry was found before the lock was taken
  kResizeUnnoticed,        // a writer that waited for a bucket goes on in it though the table was replaced
  kResizeTableStale,       // resize takes the table that was current before it had the resize lock
  kResizeLockIgnored,      // resize goes on where another resize has the lock
  kBucketReleasedEarly,    // resize: a bucket is free again once it is copied, before the new table is current
  kHelperNotAwaited,       // resize publishes the new table before its helper is done
  kFreedInUse,             // a table that was replaced is freed though operations are in it
  // items=inline:
  kValueInPlace,   // update: the new value overwrites the old one, which is more than one store
  kRoomUnflushed,  // insert, update: the flag names a room before the value in it is durable
  // items=pointer:
  kItemUnflushed,        // an item is published before it is durable
  kItemFirstLine,        // of a longer item only the line with its sizes is durable when it is published
  kItemSizesLate,        // the sizes are stored when the item is durable, and not flushed
  kItemGrownInPlace,     // update: a longer value overwrites a shorter one in its block: the size, then the bytes
  kItemShrunkInPlace,    // update: a shorter value overwrites a longer one: the bytes, then the size
  kUpdateFreesFirst,     // update: the old item is freed before the pointer to the new one is durable
  kEraseFreesFirst,      // erase: the item is freed before its pointer is cleared
  kResizeChainUnlinked,  // resize: a chained bucket of the new table is filled and not linked
  kItemFreedLocked,      // threads: an item is freed before the lock's count tells searches that it is gone
  kOldTableTrusted,      // threads: get answers what it read in a table that was replaced meanwhile
  kCount
};

struct Options : SchemeOptions {
  bool auto_resize;
  bool concurrent;
  Items items;
  Bug bug;
  uint32_t buckets;
  uint32_t expansions;
};

}  // namespace powercut::pclht
#endif  // POWERCUT_TARGETS_PCLHT_OPTIONS_H_

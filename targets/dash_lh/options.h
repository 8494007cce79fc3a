// Options of a run (target.cc has the table): variant, shape of the table, the techniques of Dash one by one, how a
// segment is recovered, and the planted bug (scenarios/known_bugs/dash_lh).
#ifndef POWERCUT_TARGETS_DASH_LH_OPTIONS_H_
#define POWERCUT_TARGETS_DASH_LH_OPTIONS_H_

#include <cstdint>

#include "targets/common/scheme_table.h"

namespace powercut::dash_lh {

// Each bug is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  kVersionNotPersisted,    // open raises the version and does not flush it
  kWordBeforeRecord,       // the bitmap is durable before the record is
  kWordNotFlushed,         // insert does not flush the bitmap
  kMembershipApart,        // the membership bit is set by a store of its own, after the allocation bit
  kEraseNotFlushed,        // erase does not flush the bitmap
  kDisplaceClearFirst,     // displacement: the original is cleared before the copy is written
  kDisplaceRefillAtOnce,   // displacement: the slot is refilled before its clearing is durable
  kChainLinkedEarly,       // the chain leads to a new bucket before that is cleared
  kChainNotFlushed,        // the link to a new bucket of the chain is not flushed
  kChainFreedEarly,        // a bucket of the chain is freed before it is unlinked
  kCompactClearFirst,      // a record of the chain is cleared before its copy is written
  kRoundBeforeArray,       // N and Next are durable before the directory names the array
  kRoundNotFlushed,        // N and Next are not flushed
  kSplitFilledEarly,       // the new segment counts before its records are durable
  kSplitClearedEarly,      // the old segment loses its records before the new segment is durable
  kSplitByHalf,            // the new segment takes every record of the upper half, also of segments yet to come
  kSplitNotFinished,       // recovery ignores that a segment splits
  kOverflowTrusted,        // overflow metadata is used after a crash as it is
  kDuplicatesKept,         // recovery of a segment leaves duplicates
  kDuplicateNotFlushed,    // recovery of a segment does not flush the removal of a duplicate
  kLocksKept,              // recovery of a segment does not reset the bucket locks
  kCloseWithoutWriteback,  // close sets the clean marker and writes nothing else back
  kLeakUnreached,          // open does not free what nobody reaches
  // Bugs of items=pointer: items of several sizes show them.
  kItemUnordered,   // insert, update: the record is durable before its item is
  kItemFirstLine,   // insert, update: an item's first line alone is flushed
  kItemFreedFirst,  // update: the old item is freed before the pointer is switched
  kGrownInPlace,    // update: where the block has room, the longer size comes first, then the bytes
  kShrunkInPlace,   // update: the bytes of a shorter value are written over the old ones, then its size
  kSizeUnflushed,   // update: the same, and the size is not flushed
  // Bugs of concurrency=concurrent.
  kReadLocked,           // a lookup reads buckets that are locked
  kReadUnchecked,        // a lookup does not look at the versions again
  kMissUnchecked,        // a lookup that finds nothing does not
  kValueAfterCheck,      // a lookup reads the value after it has looked at the versions
  kLookupStale,          // a lookup does not look whether the segment still has the records of its key
  kSegmentStale,         // update and erase do not, once they have its buckets
  kInsertStale,          // insert does not
  kInsertCheckApart,     // insert looks for its key before it has the buckets, and not again
  kUnlockBeforeFlush,    // insert releases its buckets before the bits are durable
  kUpdateUnlockedEarly,  // update releases its buckets before the value is durable
  kEraseUnlockedEarly,   // erase releases its buckets before the bits are durable
  kLockByStore,          // a bucket is locked by a load and a store
  kDisplaceUnlocked,     // a displacement does not have the bucket that it moves a record to
  kStashUnlocked,        // an insertion into the stash or the chain does not lock it
  kSplitUnlocked,        // a split does not lock the buckets of the origin
  kSplitTwice,           // a split does not look whether another thread was faster
  kRoundNotAwaited,      // a split relies on N and Next that another thread has not made durable
  kExpandUnlocked,       // two threads may expand the table at the same time
  kRecoveryUnlocked,     // two threads may recover a segment at the same time
  kUnrecoveredUnlocked,  // a lookup searches a segment while another thread recovers it
  kCount
};

struct Options : SchemeOptions {
  bool balance;
  bool displacement;
  bool fingerprints;
  bool overflow;
  bool eager;
  bool concurrent;
  bool pointers;  // items=pointer
  Bug bug;
  uint8_t buckets;
  uint8_t stash;
  uint8_t slots;
  uint8_t base;
  uint8_t stride;
  uint8_t expand;
  uint8_t versions;
};

}  // namespace powercut::dash_lh
#endif  // POWERCUT_TARGETS_DASH_LH_OPTIONS_H_

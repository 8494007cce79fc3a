// Options of a run (target.cc has the table): variant, sizes, how an update and the number of items are kept, and the
// planted bug (scenarios/known_bugs/cmap).
#ifndef POWERCUT_TARGETS_CMAP_OPTIONS_H_
#define POWERCUT_TARGETS_CMAP_OPTIONS_H_

#include <cstdint>

#include "targets/common/scheme_table.h"

namespace powercut::cmap {

// Each bug is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  kNodeUnflushed,         // insert: the node is published before it is durable
  kHeadUnflushed,         // insert: the head of the chain is not flushed
  kUnlinkUnflushed,       // erase: the node is freed while its unlinking may be lost
  kFreeBeforeUnlink,      // erase: the node is freed before it is unlinked
  kReplaceTwoStores,      // update=replace: the old node is unlinked, then the new one linked
  kAssignUnlogged,        // update=assign: a value of several words is overwritten without a log
  kSizeOutside,           // size=logged: the number changes after the transaction
  kSegmentUninitialised,  // growth: a segment is published before its buckets are empty
  kSegmentUnflushed,      // growth: the pointer to the segment is not flushed
  kBucketCountUnordered,  // growth: the number of buckets and the pointer to them are flushed together
  kFlagFirst,             // rehash: the bucket is marked before the nodes are in it
  kUnlogged,              // transaction: the words are changed without a log
  kLogUnordered,          // transaction: the log is valid before its entries are durable
  kLogClearedEarly,       // transaction: the log is cleared before the changes are durable
  kLogNotReplayed,        // open ignores the log
  kNoSweep,               // open does not free what nobody reaches
  // That only values of several sizes show:
  kSizeFirst,          // update: the new size is durable before the transaction changes the value
  kSizeLate,           // update: the size follows the transaction, which has changed the value alone
  kSizeUnflushed,      // update: the size is a plain store that nobody flushes
  kSizeByTwoStores,    // update: a value of one word and its size change without a log
  kOldSizeFlushed,     // update by a new node: as many bytes are flushed as the old node has
  kReplaceFreesFirst,  // update by a new node: the old node is freed before it is unlinked
  // Of concurrency=concurrent:
  kLocksNotReset,          // open leaves the locks of buckets and nodes as it finds them
  kLockByStore,            // the lock of a bucket is taken by a load and a store
  kLookupUnlocked,         // lookup takes no lock
  kValueUnlocked,          // lookup copies the value without the lock of the node
  kUnlockBeforeFlush,      // update: the lock of the node is free before the value is durable
  kMaskReadOnce,           // lookup, update and erase do not look at the mask again when they miss
  kInsertMaskReadOnce,     // insert does not look at the mask again
  kUpgradeUnnoticed,       // insert does not look for its key again though its lock was free in between
  kLinkStale,              // erase does not look for its link again though the lock was free in between
  kEraseNoWait,            // erase frees a node that others may be reading
  kParentReleasedEarly,    // rehash: the parent is free before the bucket is marked
  kParentSeenUnlocked,     // rehash: whether there is anything to move is looked up before the parent is locked
  kParentShared,           // rehash: items are moved out of the parent while others read it
  kLogShared,              // two transactions use the log at the same time
  kItemsReadEarly,         // size=logged: the number is computed before the transaction has the log
  kSegmentVisibleEarly,    // growth: other threads get the segment before the pointer to it is durable
  kGrownTwice,             // growth: whether somebody else has grown the table is not looked at under the lock
  kFailedRehashUnnoticed,  // a thread that waited for a bucket goes on in it though it could not be rehashed
  kCount
};

struct Options : SchemeOptions {
  bool replace;      // update by a new node
  bool logged_size;  // the number of items is persistent
  bool concurrent;
  uint8_t first_block;
  Bug bug;
};

}  // namespace powercut::cmap
#endif  // POWERCUT_TARGETS_CMAP_OPTIONS_H_

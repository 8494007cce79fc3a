// What a run may choose (target.cc has the table): variant, sizes, how an update and the number of items are kept, and
// the planted bug (scenarios/known_bugs/cmap).
#ifndef POWERCUT_TARGETS_CMAP_OPTIONS_H_
#define POWERCUT_TARGETS_CMAP_OPTIONS_H_

#include <cstdint>

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
  kCount
};

struct Options {
  bool hardened = false;
  bool replace;      // update by a new node
  bool logged_size;  // the number of items is persistent
  uint8_t first_block;
  uint8_t key_size = 8;
  uint16_t value_size = 8;
  Bug bug;
};

}  // namespace powercut::cmap
#endif  // POWERCUT_TARGETS_CMAP_OPTIONS_H_

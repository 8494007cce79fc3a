// Options of a run (target.cc has the table): variant, shape of the table, when the rehashing thread gets its turn, and
// the planted bug (scenarios/known_bugs/clevel).
#ifndef POWERCUT_TARGETS_CLEVEL_OPTIONS_H_
#define POWERCUT_TARGETS_CLEVEL_OPTIONS_H_

#include <cstdint>

#include "targets/common/scheme_table.h"

namespace powercut::clevel {

// Each bug is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  kIndexAfterContext,   // rehash: the index is reset after the context that ends the resize, or goes on to a level
  kIndexBeforeItems,    // rehash: the index moves past a bucket before its items have moved
  kRehashClearFirst,    // rehash: the old slot is cleared before the new one is set
  kInsertUnordered,     // insert: the slot is set before the item is durable
  kInsertUnflushed,     // insert: the slot is never flushed
  kInsertIntoLast,      // insert: a slot of the last level is taken while the table is being resized
  kUpdateUnordered,     // update: the slot is switched before the new item is durable
  kUpdateFreesFirst,    // update: the old item is freed before the slot is switched
  kUpdateFirstCopy,     // update: changes one of two copies
  kEraseFirstCopy,      // erase: clears one of two copies
  kContextUnordered,    // the context is published before its contents are durable
  kContextInPlace,      // the context is changed field by field, without copy-on-write
  kLevelUninitialised,  // expand: the level list and the context name the level before its slots are empty
  kExpandWithoutHelp,   // expand: a level that is appended already is not taken over into the context
  kBuffersNotScanned,   // open does not release what the persistent buffers name
  kInsertNotRedone,     // insert: a slot of the last level, taken while another thread began to resize, is not left
  kContextNotHelped,    // a context that another thread has not made durable yet is acted upon
  kUpdateNotRechecked,  // update: a rehash of the same bucket at the same time goes unnoticed
  kEraseNotRechecked,   // erase: the same
  // That only values of several sizes show:
  kFirstLineFlushed,  // insert, update: an item's first line alone is flushed
  kSizesLate,         // insert, update: the sizes are stored when the item is durable, and not flushed
  kGrownInPlace,      // update: where the block has room, the longer size comes first, then the bytes
  kShrunkInPlace,     // update: the bytes of a shorter value are written over the old ones, then its size
  // Where there are many threads; context_unordered, context_not_helped, insert_unordered and insert_not_redone are
  // there as well.
  kUpdateCasUnchecked,  // update: goes on as if its CAS had succeeded
  kEraseStores,         // erase: empties the slot by a plain store
  kEraseFreesCopies,    // erase: an item that is in two slots while it is moved is freed with each of them
  kFreedAtOnce,         // an item is freed while others may be reading it
  kInsertOvertaken,     // insert: looks for a resize under way, and not for one that came and went
  kInsertNotUnique,     // insert: looks for the key before it takes a slot, and never again
  kExpandOvertaken,     // expand: says that a table of two levels is being resized, if others did the whole resize
  kMoveClearsBlindly,   // rehash: copies an item and clears its old slot by a plain store, as 3.1.2 has it
  kMoveNotRetried,      // rehash: an item that is updated while it is copied is left behind
  kHitNotPersisted,     // search: answers with an item whose slot is not durable
  kMissNotPersisted,    // search: passes over an item whose erasure is not durable
  // Where there are several rehashing threads, or a resize beside operations; index_before_items as well.
  kRehashersShareIndex,   // rehash: all rehashing threads count their buckets in one word
  kLevelRemovedEarly,     // rehash: the level goes when one rehashing thread is done, whatever the others still move
  kCopyCountsEarly,       // rehash: the copy is an item before the old slot says that it is no longer
  kHelpNotPersisted,      // help: the copy becomes the item before the forwarded slot is durable
  kUpdateNotHelped,       // update: changes the old slot of an item that is being moved
  kLevelAppendedBlindly,  // expand: a level is linked over one that another thread has linked since
  kCount
};

// Which step of another thread falls into which operation of this one.
enum class Interleave : uint8_t {
  kNone,
  kExpandInSearch,  // update, erase: a level is added, and a bucket rehashed into it, once the search has begun
  kExpandInInsert,  // a level is added, and a bucket rehashed, between the choice of a slot in the last level and its
                    // CAS
  kExpandUnpersisted,  // insert begins when another thread has published a context and not yet flushed it
  kRehashInUpdate,     // Fig. 4: an item is copied before the CAS of its update, and its old slot cleared after it
  kRehashInErase,      // an item is read before its slot is cleared by an erase, and copied after it
  kCount
};

struct Options : SchemeOptions {
  bool auto_expand;
  Interleave interleave;
  Bug bug;
  uint8_t slots;
  uint8_t first_log2;
  uint32_t auto_rehash;
  uint8_t version_bits;
  bool concurrent;
  uint8_t rehash_threads;
  uint8_t reclaim;
};

}  // namespace powercut::clevel
#endif  // POWERCUT_TARGETS_CLEVEL_OPTIONS_H_

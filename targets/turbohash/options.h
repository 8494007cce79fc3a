// Options of a run (target.cc has the table): variant, shape of the table, the kind of item, and the planted bug
// (scenarios/known_bugs/turbohash).
#ifndef POWERCUT_TARGETS_TURBOHASH_OPTIONS_H_
#define POWERCUT_TARGETS_TURBOHASH_OPTIONS_H_

#include <cstdint>

#include "targets/common/scheme_table.h"
#include "targets/turbohash/tags.h"

namespace powercut::turbohash {

// Each bug is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  kInsertMetaFirst,       // the valid bit is set before the item is durable
  kReuseMetaFirst,        // a deleted slot comes back to life before its new item is durable
  kUpdateMetaFirst,       // the bits are switched before the new item is durable
  kFlushFirstLine,        // of a bucket only the first line is flushed, wherever the slot lies
  kTagAfterMeta,          // the tag is written after the valid bit
  kUpdateClearFirst,      // update: old valid bit cleared, then the new one set, in two writes
  kUpdateSetFirst,        // update: new valid bit set, then the old one cleared, in two writes
  kEraseClearsValid,      // erase clears the valid bit: the slot becomes empty, and paths end there
  kExpandPublishFirst,    // expansion: the version is switched before the new buckets are durable
  kGcPublishFirst,        // garbage collection: the same
  kVersionBeforeSet,      // the version is switched before count and pointer are durable
  kCountAfterVersion,     // the count is written after the version is switched
  kSetInPlace,            // the set in use is overwritten; the version stays
  kOldFreedFirst,         // the old shard's block is freed before the switch
  kEmptyBucketsSkipped,   // buckets of a new shard that hold no item are not written
  kShardNotSwept,         // open does not free what nobody reaches
  kDirectoryNotFlushed,   // format: the directory is not flushed
  kItemNotFlushed,        // pointer mode: the cell is not durable when the slot is committed
  kItemNotLogged,         // pointer mode: no log, a cut leaks a cell
  kItemLogLate,           // pointer mode: the log is written after the cell is taken
  kItemFreedFirst,        // pointer mode: the old cell is freed before the commit
  kItemLogOutlivesShard,  // pointer mode: the log still names a slot of a shard that was replaced
  kItemLogOneWrite,       // pointer mode: the log is overwritten without being invalid in between
  kItemShortenedInPlace,  // pointer mode: a shorter value overwrites the longer one, and then its size is stored
  kItemSizeLate,          // pointer mode: the size of the value is stored after the commit
  kItemSizesAlone,        // pointer mode: of an item only the line with its sizes is durable at the commit
  kItemOldSize,           // pointer mode: of an item as many bytes are flushed as its old version had
  kItemReallocated,       // pointer mode: the old cell is freed first, so that the new item may come to lie in it
  kItemCellShort,         // pointer mode: the cell is too short by the word that holds the sizes
  kTxLogUnordered,        // transactions=on: the undo log counts before its words are durable
  kTxMetaNotAdded,        // transactions=on: the meta word is not added to the undo log
  kTxDebtKept,            // transactions=on: a roll-back leaves the old cell in the log, which the next open frees
  kTxFreedInside,         // transactions=on: an update frees the old cell inside the transaction
  kChunkHeaderLate,       // allocator=threads: a chunk counts before its header is empty
  kChunkLost,             // allocator=threads: open does not give empty chunks back
  // Only threads show these (concurrency=concurrent):
  kDirtyHit,             // a lookup returns an item whose commit may not be durable
  kDirtyMiss,            // a lookup misses an item whose delete may not be durable
  kTagsFirst,            // a lookup reads the tags before the meta word
  kMissUnchecked,        // a lookup that finds no match does not look at the sequence number again
  kValueAfterCheck,      // the slot's value is read after the sequence number was checked
  kValueUnchecked,       // a match is not checked at all
  kOneWriteForgiven,     // the check lets the sequence number differ by one
  kShardFreedAtOnce,     // the old shard is freed while readers may be in it
  kEpochAfterPointer,    // a reader takes the shard's pointer before it is in an epoch
  kCellFreedAtOnce,      // pointer mode: the old cell is freed while readers may be in it
  kRetiredBeforeCommit,  // pointer mode: readers of the old cell are awaited before the commit hides it
  kShardShownFirst,      // the new shard is shown to writers before it is durable and the directory names it
  kEraseUnlocked,        // erase takes no lock
  kSearchUnlocked,       // insert and update search before they take the lock, and not again
  kRebuildUnlocked,      // the shard's lock is free while it is rewritten
  kUnlockBeforeFlush,    // erase releases the lock before its commit is flushed
  kTxReadInside,         // transactions=on: a lookup does not await the end of the transaction whose item it returns
  kLanesForgotten,       // allocator=threads: open reads the log of the first lane alone
  kGarbageNotAwaited,    // reclaim=pool: the garbage pool is emptied while readers of the epoch are left
  kGarbageForgotten,     // reclaim=pool: open does not free what lay in the garbage pool
  kCount
};

struct Options : SchemeOptions {
  bool pointer;  // slots hold hash and pointer (3.6); else key and value
  bool auto_gc;
  bool concurrent;     // several threads may use the open table
  bool transactional;  // each operation is one transaction (3.7)
  bool garbage_pool;   // freed memory waits for its readers in a garbage pool (3.6), where there are threads
  bool has_chunks;     // each thread takes cells from a chunk of its own
  bool multiplied;     // the hash function is the authors' product; keys have 8 bytes
  bool last_deleted;   // an insert takes the last deleted slot of its path, as the authors' code does
  Tags tags;
  Bug bug;
  uint8_t shards_log2;
  uint8_t buckets_log2;  // of a shard when it is formatted
  uint8_t scope;

  uint64_t shards() const { return uint64_t{1} << shards_log2; }
  bool pools_garbage() const { return garbage_pool && concurrent; }
  // Whether insert of a present key is an error. With one thread it is an update, as in the paper.
  bool ChecksExists() const { return hardened && concurrent; }
  // Returns a word of the options that must be equal whenever the table is opened.
  uint64_t Geometry() const {
    return uint64_t{shards_log2} | uint64_t{buckets_log2} << 8 | uint64_t{scope} << 16 | uint64_t{pointer} << 24 |
           uint64_t{multiplied} << 25 | uint64_t{transactional} << 26 | uint64_t{garbage_pool} << 27 |
           uint64_t{has_chunks} << 28 | uint64_t{key_size} << 32 | uint64_t{value_size} << 48;
  }
};

}  // namespace powercut::turbohash
#endif  // POWERCUT_TARGETS_TURBOHASH_OPTIONS_H_

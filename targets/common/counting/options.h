// Options of a run of a counting table (its target.cc has the table), and the constants that distinguish the four
// schemes.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_OPTIONS_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_OPTIONS_H_

#include <cstdint>

namespace powercut {
template <typename Options>
class OptionTable;
}

namespace powercut::counting {

// Each bug is a small change of `hardened` at the place that tests for it. A scheme lists the bugs that it can show.
enum class Bug : uint8_t {
  kNone,
  // Stages and merges.
  kStageUnflushed,    // a stage, and a sync, end without a flush
  kSyncLazy,          // what leaves the RAM buffer is flushed before the next, and a sync of an empty one does nothing
  kSpareReused,       // the old block is written over before the new one is durable
  kLogReused,         // the change segment is written over before the last block of its merge is durable
  kMergedNotRaised,   // the block does not say what was merged with it
  kMergedFirst,       // the old block says so, before the new one is written
  kTombstoneDropped,  // the erase of a key that the data block lacks is not staged
  kNegativeDropped,   // a stage drops what is negative
  kOverflowReused,    // the new chain is written over the old one
  // Open.
  kPiecesAccepted,    // a block counts by its first page
  kChainUnchecked,    // a block counts whatever its chain is
  kChecksumIgnored,   // so does a page that is torn
  kTornKept,          // what is left of a torn page stays
  kMergedOfNewest,    // what the newest block has merged counts as merged with all of them
  kSequenceRestarts,  // sequence numbers go on after the change pages that count, whatever was merged
  kGenerationReused,  // generations go on after the blocks that count, whatever pieces there are
  kLastPageMissed,    // the last page of the change segment is not found
  kCursorByCount,     // a log is filled up to as many pages as count, wherever they are
  // The table without a buffer.
  kWriteUnforced,    // a page is not durable when the operation returns
  kPointerFirst,     // the pointer is written before the overflow page
  kJournalSkipped,   // a page of several sectors is written without a copy in the journal
  kJournalUnforced,  // the copy is not durable before the page is written
  kEraseEmpties,     // an erase leaves an empty entry, where probing ends
  kCount
};

enum class Scheme : uint8_t {
  kBounded,    // MB: the RAM buffer is merged with the data segment
  kSegmented,  // MDB: it is staged in a change segment, a block of which serves some data blocks
  kLinear,     // MDB-L: it is staged in a change segment that is one log
  kUnbuffered  // each increment writes its page
};

// The layer between the table and the flash.
enum class Layer : uint8_t {
  kNone,  // a block device, of which nothing else is known
  kPage,  // a layer of ../ftl on raw flash
  kBlock,
  kCount
};

struct Options {
  uint32_t key_size, value_size;
  uint32_t page;      // bytes
  uint32_t sectors;   // of a page
  uint32_t entries;   // of a page
  uint32_t pages;     // of a block
  uint32_t blocks;    // of the data segment
  uint32_t change;    // change segment, in percent of the data segment
  uint32_t buffer;    // entries of the RAM buffer
  uint32_t overflow;  // blocks of the overflow region
  Layer ftl;
  bool hardened;
  Bug bug;
};

// A member of the family.
struct Member {
  const char* name;
  Scheme scheme;
  const OptionTable<Options>* options;
};

// The scheme of this library; its folder defines it.
extern const Member kMember;

}  // namespace powercut::counting
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_OPTIONS_H_

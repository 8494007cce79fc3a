// Settings, counters and answers of a flash translation layer.
#ifndef POWERCUT_TARGETS_COMMON_FTL_SETTINGS_H_
#define POWERCUT_TARGETS_COMMON_FTL_SETTINGS_H_

#include <cstdint>

namespace powercut::ftl {

// Each is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  // Bugs of both layers.
  kWearLost,        // a block is erased without a note of its count
  kTornSpare,       // open takes a page that cannot be read for one that was never programmed
  kJournalInPlace,  // the area of the journal that counts is erased for the next snapshot
  // Page-mapped.
  kMappingFirst,        // the mapping is on flash before the data that it leads to
  kEraseFirst,          // a block is erased before the copies of its pages are durable
  kCollectLive,         // garbage collection leaves a live page behind
  kTombstoneDropped,    // it leaves behind what says that a page was trimmed
  kSequenceRestarts,    // sequence numbers go on after the number of live pages
  kCheckpointUnfenced,  // a checkpoint counts by its first page
  kNewestBlockMissed,   // open does not scan the block that was opened last since the checkpoint
  // Block-mapped.
  kBaseErasedEarly,  // the old block is free before all of its pages were moved
  kCopiesCount,      // a block of copies alone counts, whatever was moved to it
  kCount
};

struct Settings {
  uint32_t logical;  // pages that the host may write
  uint32_t blocks;   // for data; the journal's come before them
  bool hardened;
  bool checkpoint;  // open reads the mapping from the journal, and scans newer blocks alone
  Bug bug;
  // True if reads are counted. Reads are not counted where a layer is judged: a lookup that moves a counter changes the
  // state for the next lookup, so the engine would ask all lookups again (replayer/EXPLORER.md, "What is asked").
  bool reads_counted = true;
};

struct Counts {
  uint64_t host_reads = 0, host_writes = 0, trims = 0;  // what the host asked for, in pages
  uint64_t page_reads = 0, page_programs = 0;           // what the medium did, copies and the journal included
  uint64_t moved = 0;                                   // of these programs: copies of pages
  uint64_t journal = 0;                                 // of these programs: the journal's
  uint64_t block_erases = 0;                            // "cleans"
  bool reads_counted = true;                            // else host_reads and page_reads stay 0

  void HostRead() {
    if (reads_counted) ++host_reads;
  }
  void PageRead() {
    if (reads_counted) ++page_reads;
  }
};

enum class Status : uint8_t {
  kOk,
  kAbsent,       // nothing was written there, or it was trimmed
  kFull,         // no block is left: nothing has changed
  kUnformatted,  // open: no journal
  kDamaged       // the medium does not give what was written, or does not take what is written
};

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_SETTINGS_H_

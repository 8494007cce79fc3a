// Which pattern the map follows (target.cc has the table of options), and which one of them is broken.
#ifndef POWERCUT_TARGETS_PATTERNS_OPTIONS_H_
#define POWERCUT_TARGETS_PATTERNS_OPTIONS_H_

#include <cstdint>

namespace powercut::patterns {

// Correct ways of doing things, some of which look wrong to a checker that matches patterns of stores.
enum class Pattern : uint8_t {
  kPlain,                // out-of-place update, one atomic state word an entry
  kHelpingPersist,       // a word is published before it is durable; its reader makes it durable first
  kRewrittenByRecovery,  // a counter is never flushed: open computes it again
  kVolatileLock,         // a lock word in the pool, never flushed: open resets it
  kBoundedDuplicates,    // erase moves the last item into the hole: a cut leaves two equal copies, as declared
  kUndoLog,              // update in place under an undo log
  kIntent,               // each operation announces itself; open withdraws the announcement
  kBlocks,               // each item owns an allocated block; open frees what no item owns
  kChecked,  // damage of the medium is found out: checksums, SIGBUS, nothing trusted that format did not write
  kCount
};

enum class Bug : uint8_t {
  kNone,
  kLost,                  // insert: the state word is never flushed
  kPhantom,               // erase: the state word is never flushed
  kStale,                 // update: the state word is never flushed
  kRedundantFlush,        // a line is flushed twice
  kRedundantFence,        // two fences, nothing between them
  kNeverPersisted,        // a statistic in the pool that nobody flushes and nobody rewrites
  kTorn,                  // undo log: open ignores it
  kNotIdempotent,         // undo log: open clears it before the old value is durable again
  kUndeclaredDuplicates,  // bounded duplicates: the declared bound is one copy
  kStructure,             // rewritten by recovery: open keeps the counter that it finds
  kLockLeft,              // volatile lock: open does not reset it
  kWildStore,             // intent: withdrawing it stores past the end of the pool
  kAbort,                 // intent: open aborts
  kSegv,                  // intent: open follows a null pointer
  kHang,                  // intent: open waits for the announcement to go away by itself
  kLeak,                  // blocks: open frees nothing
  kUnchecked,             // checked: the checksums are written, but nobody compares them
  kSwallowed,             // checked: a block that cannot be read is taken for an empty one
  kThrowingNew,           // checked: open does not expect to get no memory
  kTrustsZeroes,          // checked: format leaves what it finds
  kCount
};

struct Options {
  Pattern pattern;
  Bug bug;
  uint32_t capacity;
  uint32_t unflushed;  // lines that the first operations write, one each, and nobody flushes or reads
  uint32_t key_size;
  uint32_t value_size;
};

}  // namespace powercut::patterns
#endif  // POWERCUT_TARGETS_PATTERNS_OPTIONS_H_

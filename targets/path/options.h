// Options of a run (target.cc has the table): shape of the tree, how values are updated, and the planted bug
// (scenarios/known_bugs/path).
#ifndef POWERCUT_TARGETS_PATH_OPTIONS_H_
#define POWERCUT_TARGETS_PATH_OPTIONS_H_

#include <cstdint>

#include "targets/common/token_table.h"

namespace powercut::path {

// Each bug is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  kInsertTokenFirst,    // the token is set before the item is written
  kFlushFirstLine,      // an item that straddles two lines: only the first is flushed
  kEraseNotFlushed,     // erase does not write the cleared token back
  kUpdateTwoWrites,     // an 8-byte value is updated by two stores of 4 bytes
  kLogUnordered,        // the undo log is valid before it holds the old item
  kLogClearedEarly,     // the undo log is cleared before the new value is durable
  kLogNotReplayed,      // open ignores the undo log
  kResizePublishEarly,  // the new tree is named before it is durable
  kRehashClearFirst,    // an item is cleared in the old tree before the new tree is named
  kItemClearFirst,      // resize=rehash: an item is cleared in the old tree before the new tree has it
  kRehashOlderLate,     // resize=rehash: the new tree is named before it names the old one
  kRehashNotFinished,   // resize=rehash: open forgets the tree that a cut resize was emptying
  kRehashUnchecked,     // resize=rehash: recovery moves the item that was cut without a look for its copy
  kResizeFreeFirst,     // the old tree's block is freed before the new tree is named
  kLeakNewTree,         // open does not free what nobody reaches
  kHeaderNotFlushed,    // format flushes the address of a local
  kCount
};

struct Options {
  bool auto_expand;
  bool apart;   // the two hash functions address a half of the leaves each
  bool packed;  // two siblings and the cell above them lie side by side
  InPlace update;
  Resize resize;
  Bug bug;
  uint8_t leaves_log2;
  uint8_t levels;  // reserved levels, leaves included
  uint8_t key_size = 16;
  uint8_t value_size = 15;

  TokenDefects defects() const {
    return {.flush_first_line = bug == Bug::kFlushFirstLine,
            .log_unordered = bug == Bug::kLogUnordered,
            .log_cleared_early = bug == Bug::kLogClearedEarly,
            .log_not_replayed = bug == Bug::kLogNotReplayed,
            .value_in_halves = bug == Bug::kUpdateTwoWrites,
            .header_not_flushed = bug == Bug::kHeaderNotFlushed,
            .older_late = bug == Bug::kRehashOlderLate};
  }
};

}  // namespace powercut::path
#endif  // POWERCUT_TARGETS_PATH_OPTIONS_H_

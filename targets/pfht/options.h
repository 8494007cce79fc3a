// Options of a run (target.cc has the table): variant, shape of the table, how values are updated, and the planted bug
// (scenarios/known_bugs/pfht).
#ifndef POWERCUT_TARGETS_PFHT_OPTIONS_H_
#define POWERCUT_TARGETS_PFHT_OPTIONS_H_

#include <cstdint>

#include "targets/common/token_table.h"

namespace powercut::pfht {

// Each bug is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  kInsertTokenFirst,    // the token is set before the item is written
  kMoveTokenFirst,      // displacement: the same for the copy
  kUpdateUnordered,     // log-free update: the tokens are switched before the new item is durable
  kFlushFirstLine,      // an item that straddles two lines: only the first is flushed
  kMoveClearFirst,      // displacement: the old slot is cleared before the new one is set
  kStashPublishEarly,   // a stash node is linked before it is durable
  kStashFreeFirst,      // erase frees a stash node before it is unlinked
  kStashCutChain,       // erase unlinks the rest of the chain, then links it again
  kEraseFirstCopy,      // erase clears one of two copies
  kUpdateFirstCopy,     // update changes one of two copies
  kUpdateTwoWrites,     // log-free update: old token cleared, then new token set
  kLogUnordered,        // the undo log is valid before it holds the old item
  kLogClearedEarly,     // the undo log is cleared before the new value is durable
  kLogNotReplayed,      // open ignores the undo log
  kResizePublishEarly,  // the new table is named before it is durable
  kRehashClearFirst,    // an item is cleared in the old table before the new table is named
  kItemClearFirst,      // resize=rehash: an item is cleared in the old table before the new table has it
  kRehashOlderLate,     // resize=rehash: the new table is named before it names the old one
  kRehashNotFinished,   // resize=rehash: open forgets the table that a cut resize was emptying
  kRehashStashLeft,     // resize=rehash: the old table is given up while its stash still holds items
  kLeakNewTable,        // open does not free what nobody reaches
  kHeaderNotFlushed,    // format flushes the address of a local
  kCount
};

enum class UpdateKind : uint8_t { kLogged, kOpportunistic, kAtomic, kCount };
enum class Choice : uint8_t { kFirst, kLessLoaded, kCount };

struct Options {
  bool hardened = false;
  bool auto_expand;
  UpdateKind update;
  Choice choice;
  Resize resize;
  Bug bug;
  uint8_t slots;
  uint8_t buckets_log2;
  uint8_t stash;  // percent of the whole table's places
  uint8_t key_size = 16;
  uint8_t value_size = 15;

  TokenDefects defects() const {
    return {.flush_first_line = bug == Bug::kFlushFirstLine,
            .log_unordered = bug == Bug::kLogUnordered,
            .log_cleared_early = bug == Bug::kLogClearedEarly,
            .log_not_replayed = bug == Bug::kLogNotReplayed,
            .value_in_halves = false,
            .header_not_flushed = bug == Bug::kHeaderNotFlushed,
            .older_late = bug == Bug::kRehashOlderLate};
  }
};

}  // namespace powercut::pfht
#endif  // POWERCUT_TARGETS_PFHT_OPTIONS_H_

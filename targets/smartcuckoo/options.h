// Options of a run (target.cc has the table): variant, shape of the table, how the forest is found again after a crash,
// and the planted bug (scenarios/known_bugs/smartcuckoo).
#ifndef POWERCUT_TARGETS_SMARTCUCKOO_OPTIONS_H_
#define POWERCUT_TARGETS_SMARTCUCKOO_OPTIONS_H_

#include <cstdint>

namespace powercut::smartcuckoo {

// Each bug is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  kMoveForward,         // a kick-out path is walked from its head, the victim in a register, as in DRAM
  kMoveClearFirst,      // a move clears the old bucket before the copy is there
  kTokenFirst,          // the token is durable before the item
  kTokenLineOnly,       // of an item that straddles two lines only the token's line is flushed
  kEraseUnflushed,      // the cleared token of an erased item is never flushed
  kEraseFirstCopy,      // erase clears one of two copies
  kUpdateUnlogged,      // a value of more than 8 bytes is overwritten without a log
  kUpdateFirstCopy,     // update changes one of two copies
  kLogUnordered,        // the undo log is valid before it holds the old value
  kLogNotReplayed,      // open ignores the undo log
  kResizeEarly,         // the new directory is published before its items are durable
  kFreeEarly,           // the old directory is freed before the new one is published
  kDuplicateKept,       // recovery leaves the second copy of an item that was being moved
  kComponentForgotten,  // recovery scans the first table only: subgraphs beyond are missing or short
  kHeaderUnflushed,     // format flushes the address of a local
  kLeakDirectory,       // open does not free what nobody reaches
  kStashUnflushed,      // the token of an item in the stash is never flushed
  kStashClearFirst,     // a rehash clears the stash before the new directory is published
  kCount
};

struct Options {
  bool hardened = false;
  bool auto_expand;
  bool on_demand;  // the forest is learned where an operation needs it, not by a scan at open
  Bug bug;
  uint8_t log2;       // buckets of each table
  uint8_t stash = 0;  // buckets for items whose insertion is predetermined to fail
  uint8_t key_size = 8;
  uint8_t value_size = 8;
};

}  // namespace powercut::smartcuckoo
#endif  // POWERCUT_TARGETS_SMARTCUCKOO_OPTIONS_H_

// Options of a run (target.cc has the table): the construction that makes the lists durable, the number of lists, and
// the planted bug (scenarios/known_bugs/constructions).
#ifndef POWERCUT_TARGETS_CONSTRUCTIONS_OPTIONS_H_
#define POWERCUT_TARGETS_CONSTRUCTIONS_OPTIONS_H_

#include <cstdint>

namespace powercut::constructions {

enum class Kind : uint8_t { kFlit, kLinkAndPersist, kNvtraverse, kCount };

// Each bug is a small change of one construction at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  // flit:
  kCounterIgnored,       // a p-load never flushes
  kCounterRaisedLate,    // the counter is raised when the new value is visible already
  kCounterLoweredEarly,  // the counter is lowered before the new value is flushed
  kLoadsNotFenced,       // an operation returns without a fence behind what its p-loads have flushed
  // link_and_persist:
  kMarkIgnored,         // a marked link is acted upon as if it were durable
  kMarkCleared,         // whoever meets a marked link clears the mark and leaves the flush to others
  kMarkClearedEarly,    // the mark is cleared before the link is flushed
  kNodePublishedEarly,  // a node is linked before it is durable
  // nvtraverse:
  kParentNotFlushed,  // no ensureReachable: the link by which the search came to its place is not flushed
  kLeftNotFlushed,    // the link that names the key's node is not flushed
  kErasedNotFlushed,  // the erased nodes in the way are not flushed
  kReturnNotFenced,   // an operation returns without a fence
  kCount
};

// Which construction a bug breaks.
constexpr Kind BrokenBy(Bug bug) {
  if (bug < Bug::kMarkIgnored) return Kind::kFlit;
  return bug < Bug::kParentNotFlushed ? Kind::kLinkAndPersist : Kind::kNvtraverse;
}

struct Options {
  Kind construction;
  Bug bug;
  uint32_t buckets;
  uint32_t key_size = 8;
  uint32_t value_size = 8;
};

}  // namespace powercut::constructions
#endif  // POWERCUT_TARGETS_CONSTRUCTIONS_OPTIONS_H_

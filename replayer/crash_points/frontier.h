// The crash states of the instant that a model stands at: the definite bytes in the pool, the rest as sets.
// Follows the model line by line, so that a crash point costs what changed since the last one, however many
// lines are pending.
#ifndef POWERCUT_REPLAYER_CRASH_POINTS_FRONTIER_H_
#define POWERCUT_REPLAYER_CRASH_POINTS_FRONTIER_H_

#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replayer/executor/executor.h"
#include "replayer/models/model.h"
#include "replayer/strategies/strategy.h"

namespace powercut {

class Frontier {
 public:
  // Change of a line's set in one step.
  struct Change {
    uint64_t line = 0;
    bool grew = false;       // contents [0, old_count) are as they were, in the same order; the rest is new
    uint32_t old_count = 0;  // when it grew; 1 for a line that was definite
    LineSet before;          // when it did not: the set before the step; one content when the line was definite
  };

  // `pool` holds contents[0] of every line. It may be null: then only the sets are kept (counting), and what a
  // definite line held is not known, so that its `before` is empty.
  explicit Frontier(uint8_t* pool) : pool_(pool) {}
  Frontier(const Frontier&) = delete;
  Frontier& operator=(const Frontier&) = delete;

  // Changes since the last call, ascending by line; valid until the next call. A line with the same contents in the
  // same order is not reported.
  const std::vector<Change>& follow(Model* model);
  // Null: the line is definite, its content is in the pool. The address is good while the line stays undecided.
  const LineSet* find(uint64_t line) const;
  // The product of the sizes of all sets.
  const BigInt& states() const;
  // All undecided lines, ascending. Costs as many steps as there are.
  LineSets sets() const;
  size_t pending() const { return undecided_; }
  // Some line has more candidates than are kept, so the sets are a part of what is legal.
  bool truncated() const { return truncated_ > 0; }

 private:
  // A line with pending stores, also where these allow one content only: a store that is appended continues it.
  struct Entry {
    LineSet set;
    ChainCandidates chain;
    bool continues = false;  // `chain` made the set; otherwise non-temporal stores had a part in it
    bool truncated = false;
  };

  void follow_line(const PendingLines::Change& touched, const Model& model);
  // Appends what stores at the end of the chain add.
  void extend(Entry* entry, const LineLog& log, AtomPolicy policy);
  // Makes the set anew. `log` is null when nothing is pending.
  void rebuild(Entry* entry, const LineLog* log, const Model& model);
  void set_truncated(Entry* entry, bool truncated);
  Entry* entry_of(uint64_t line);
  void drop(uint64_t line);
  // A set of `before` contents has `now`.
  void resized(uint64_t before, uint64_t now);
  void count(uint64_t size, bool in);
  std::vector<Content> take_spare();
  void recycle(std::vector<Content>* contents);

  uint8_t* pool_;
  std::deque<Entry> entries_;                   // deque: the addresses last
  std::vector<uint32_t> free_;                  // of entries_
  absl::flat_hash_map<uint64_t, uint32_t> at_;  // line -> entries_
  std::vector<Change> changes_;
  std::vector<std::vector<Content>> spare_;  // memory of sets that are gone
  size_t undecided_ = 0, truncated_ = 0;
  // The product is odd_ * 2^twos_: most sets have 2^n contents, and shifting is cheaper than dividing.
  BigInt odd_ = 1;
  uint64_t twos_ = 0;
  mutable BigInt states_ = 1;
  mutable bool states_known_ = true;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_CRASH_POINTS_FRONTIER_H_

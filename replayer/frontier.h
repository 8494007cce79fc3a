// The crash states of the instant that a model stands at: the definite bytes in the pool, the rest as sets.
// Follows the model line by line, so that a crash point costs what changed since the last one, however many
// lines are pending.
#ifndef POWERCUT_REPLAYER_FRONTIER_H_
#define POWERCUT_REPLAYER_FRONTIER_H_

#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replayer/executor.h"
#include "replayer/models/model.h"
#include "replayer/strategies/strategy.h"

namespace powercut {

class Frontier {
 public:
  // What became of a line's set in one step.
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

  // What changed since the last call, ascending by line; valid until the next. A line with the same contents in the
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
  struct Entry {
    LineSet set;
    bool truncated = false;
  };

  void follow_line(uint64_t line, const Model& model);
  Entry* entry_of(uint64_t line);
  void drop(uint64_t line);
  // Counts a set of `size` contents in, or out.
  void count(uint64_t size, bool in);

  uint8_t* pool_;
  std::deque<Entry> entries_;                   // deque: the addresses last
  std::vector<uint32_t> free_;                  // of entries_
  absl::flat_hash_map<uint64_t, uint32_t> at_;  // line -> entries_
  std::vector<Change> changes_;
  size_t undecided_ = 0, truncated_ = 0;
  // The product is odd_ * 2^twos_: most sets have 2^n contents, and shifting is cheaper than dividing.
  BigInt odd_ = 1;
  uint64_t twos_ = 0;
  mutable BigInt states_ = 1;
  mutable bool states_known_ = true;
};

// The lines of `changes`.
std::vector<uint64_t> lines_of(const std::vector<Frontier::Change>& changes);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_FRONTIER_H_

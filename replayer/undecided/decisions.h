// The choices of one execution, replayed and advanced depth-first.
#ifndef POWERCUT_REPLAYER_UNDECIDED_DECISIONS_H_
#define POWERCUT_REPLAYER_UNDECIDED_DECISIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace powercut {

// The decisions of one execution. The execution calls choose() at each branch. If the recorded indices are replayed,
// the execution takes the same path again, since target code is deterministic. `advance()` moves to the next path, and
// returns false if all paths are done.
class Decisions {
 public:
  void restart() { position_ = 0; }
  // Forgets all choices.
  void clear() {
    made_.clear();
    position_ = fresh_from_ = 0;
  }

  // Returns the option to take at this branch of `count` >= 1 options.
  uint32_t choose(uint32_t count) {
    if (position_ == made_.size()) made_.push_back({0, count});
    return made_[position_++].index;
  }

  bool advance() {
    made_.resize(position_);
    while (!made_.empty() && made_.back().index + 1 == made_.back().count) made_.pop_back();
    if (made_.empty()) return false;
    ++made_.back().index;
    fresh_from_ = made_.size();
    return true;
  }

  // Returns whether this instant of the execution lies past the choice that advance() changed last. If so, no earlier
  // execution has passed the instant under the same choices.
  bool fresh() const { return position_ >= fresh_from_; }

 private:
  struct Choice {
    uint32_t index, count;
  };
  std::vector<Choice> made_;
  size_t position_ = 0;
  size_t fresh_from_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_DECISIONS_H_

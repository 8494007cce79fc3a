// The crash points that one walk over the trace looks at, by their ordinals. They are settled when the walk begins:
// what the walk finds out on its way must not change them, since a second walk ahead of it goes by the same points.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_WALK_POINTS_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_WALK_POINTS_H_

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

namespace powercut {

class WalkPoints {
 public:
  // Every crash point of the trace.
  WalkPoints() = default;
  // `ordinals` ascend.
  explicit WalkPoints(std::vector<uint64_t> ordinals) : all_(false), ordinals_(std::move(ordinals)) {
    assert(std::ranges::is_sorted(ordinals_));
  }

  bool all() const { return all_; }
  bool has(uint64_t ordinal) const { return all_ || std::ranges::binary_search(ordinals_, ordinal); }
  // Where the walk does not look at all of them.
  const std::vector<uint64_t>& ordinals() const { return ordinals_; }

 private:
  bool all_ = true;
  std::vector<uint64_t> ordinals_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_WALK_POINTS_H_

// The crash points that one walk over the trace looks at, by their ordinals. The points are settled when the walk
// begins. Results of the walk must not change them, since a second walk ahead of it goes by the same points.
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
  // The walk's ordinals, where the walk does not look at every crash point.
  const std::vector<uint64_t>& ordinals() const { return ordinals_; }

 private:
  bool all_ = true;
  std::vector<uint64_t> ordinals_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_WALK_POINTS_H_

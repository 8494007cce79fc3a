// One concrete crash image, and the stack of cuts that leads to it.
#ifndef POWERCUT_REPLAYER_EXECUTOR_IMAGE_H_
#define POWERCUT_REPLAYER_EXECUTOR_IMAGE_H_

#include <vector>

#include "replayer/executor/executor.h"

namespace powercut {

// A content for every line that the cuts left open, level by level down to the level at hand.
struct Image {
  struct Line {
    uint64_t line = 0;
    Content content;
    uint32_t candidates = 0;
    bool decided = false;  // true: the execution observed bytes that rule out some candidates
  };
  std::vector<std::vector<Line>> levels;  // [0]: the first cut; [d]: the cut inside the d-th recovery
  struct Nested {
    uint64_t stores_seen = 0;
    bool after_return = false;
    std::vector<NestedStore> stores;
  };
  std::vector<Nested> nested;  // one for each level but the first
};

// Returns a cut as a report names it. `stores`: those of the whole execution that was cut.
Image::Nested nested_of(const Cut& cut, const std::vector<NestedStore>& stores);

// The cuts that the exploration is under, outermost first.
class CutLevels {
 public:
  // Begins a level. `nested` tells the cut that led to the level; it is empty for the first level.
  void push(LineSets sets, Image::Nested nested) { levels_.push_back({std::move(sets), std::move(nested)}); }
  void pop() { levels_.pop_back(); }
  void replace_first(LineSets sets) { levels_.front().sets = std::move(sets); }

  // Returns an image that the execution at hand cannot tell from any other image that is still alive. Every line has a
  // content with as little lost as possible. A nested level's choice fixes the content of its line at the cut before.
  Image image(const Executor& executor) const;

 private:
  struct Level {
    LineSets sets;
    Image::Nested nested;
  };
  std::vector<Level> levels_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_IMAGE_H_

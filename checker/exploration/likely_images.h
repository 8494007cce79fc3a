// The images of a large crash point that most often show a bug, tried before all of them are explored.
//
// A value whose flush or fence was forgotten leaves a crash point with more images than anybody waits for. Nearly all
// of these images are wrong. Each single pending line is lost first, the highest before the others. Then all lines are
// lost, then none, and then each line alone persists. The first image with a wrong answer ends the search: the
// exploration that follows finds all other wrong answers.
//
// Each image asks every query, so the executions are limited to a part of the executions that the chunk takes anyway.
// The limit counts executions, and a clock has no say: a chunk's result is the same wherever it is explored.
#ifndef POWERCUT_CHECKER_EXPLORATION_LIKELY_IMAGES_H_
#define POWERCUT_CHECKER_EXPLORATION_LIKELY_IMAGES_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "replayer/explorer/explorer.h"

namespace powercut {

class LikelyImages {
 public:
  // Crash points of fewer states are explored at once.
  static constexpr uint64_t kLeastStates = uint64_t{1} << 18;
  // Number of single lines that are lost, and of lines that persist alone.
  static constexpr size_t kMostLines = 64;
  // Executions that a chunk may take for likely images: `kAllowed`, and one in `kShare` of the executions that the
  // exploration has taken.
  static constexpr uint64_t kAllowed = 4096, kShare = 8;

  // `executor` and `subject` outlive this. `found`: whether an image tried by now has shown a wrong answer.
  LikelyImages(Executor* executor, Subject* subject, std::function<bool()> found);
  ~LikelyImages();

  // Tries images of the crash point. Precondition: the executor has the lines of the first cut, and nothing is
  // installed on these lines. `taken`: executions of the exploration in this chunk.
  void look(const Frontier& frontier, uint64_t ordinal, uint64_t taken);

 private:
  class Order;
  std::unique_ptr<Order> order_;
  std::unique_ptr<Explorer> explorer_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_LIKELY_IMAGES_H_

// The images of a large crash point that most often show a bug, tried before all of them are explored.
//
// A value whose flush or fence was forgotten leaves a crash point with more images than anybody waits for, and nearly
// all of them are wrong. Each single pending line is lost first, the highest before the others; then all of them
// are, then none, and then each of them alone persists. The first image with a wrong answer ends it: the exploration
// that follows finds what else there is.
//
// Each image asks every query, so no more executions go into it than a part of those that the chunk takes anyway. They
// are counted, and a clock has no say: a chunk's result is the same wherever it is explored.
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
  // Single lines that are lost, and that persist alone.
  static constexpr size_t kMostLines = 64;
  // Executions that a chunk may take for it, and on top of them this part of those that the exploration has taken.
  static constexpr uint64_t kAllowed = 4096, kShare = 8;

  // Both outlive it. `found`: whether an image tried by now has shown something.
  LikelyImages(Executor* executor, Subject* subject, std::function<bool()> found);
  ~LikelyImages();

  // Tries images of the crash point. The lines of the first cut are the executor's, and nothing is installed on them.
  // `taken`: executions of the exploration in this chunk.
  void look(const Frontier& frontier, uint64_t ordinal, uint64_t taken);

 private:
  class Order;
  std::unique_ptr<Order> order_;
  std::unique_ptr<Explorer> explorer_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_LIKELY_IMAGES_H_

// The least image on which a program's outcome is wrong in the same way. A question costs a run, so the search begins
// with an image that was met. One by one, lost lines are made visible, as long as the outcome stays and the set still
// shrinks. For each line that stays lost, the search finds the last content that still shows the outcome. One missing
// flush then leads to one image, whatever else was lost.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_LEAST_CHOICE_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_LEAST_CHOICE_H_

#include <functional>
#include <utility>
#include <vector>

#include "checker/subjects/program/workers/image_workers.h"

namespace powercut {

class LeastChoice {
 public:
  // Whether the image shows the wrong outcome that is looked for. An image that was run before costs nothing.
  using Shows = std::function<bool(const Choice&)>;

  // `sets` outlives this.
  LeastChoice(const LineSets& sets, Shows shows) : sets_(sets), shows_(std::move(shows)) {}

  // The image that has lost nothing.
  Choice visible() const;
  // Returns the least image. Precondition: `choice` shows the outcome.
  Choice find(const Choice& choice) const;
  // Returns, by line, whether the outcome needs the line's content: the line is lost, or it had to persist.
  std::vector<bool> decided(const Choice& choice) const;

 private:
  Choice fewest_lost(Choice choice) const;
  uint32_t last_content_of(const Choice& choice, size_t line) const;

  const LineSets& sets_;
  const Shows shows_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_LEAST_CHOICE_H_

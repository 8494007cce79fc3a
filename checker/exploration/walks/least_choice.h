// The least image on which a program's outcome is wrong in the same way. A question costs a run, so the search begins
// with an image that was met: lines are taken out of what it lost one by one, as long as that changes anything, and of
// each that stays lost the last content is found that still shows the outcome. One missing flush comes to one image,
// whatever else was lost.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_LEAST_CHOICE_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_LEAST_CHOICE_H_

#include <functional>
#include <utility>
#include <vector>

#include "checker/subjects/program/workers/image_workers.h"

namespace powercut {

class LeastChoice {
 public:
  // Whether the image is wrong in the way that is looked for. An image that was run before costs nothing.
  using Shows = std::function<bool(const Choice&)>;

  // `sets` outlives this.
  LeastChoice(const LineSets& sets, Shows shows) : sets_(sets), shows_(std::move(shows)) {}

  // The image that has lost nothing.
  Choice visible() const;
  // `choice` shows it.
  Choice find(const Choice& choice) const;
  // By line, whether the outcome needs its content: it is lost, or it had to persist.
  std::vector<bool> decided(const Choice& choice) const;

 private:
  Choice fewest_lost(Choice choice) const;
  uint32_t last_content_of(const Choice& choice, size_t line) const;

  const LineSets& sets_;
  const Shows shows_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_LEAST_CHOICE_H_

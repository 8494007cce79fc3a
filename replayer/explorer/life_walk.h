// Walks a second life: the operations of the subject's continuation, one after another, on the table that a recovery
// has opened. A load of undecided bytes branches, as it does in a recovery; all that the continuation never reads stays
// undecided. The power may fail at each crash point of the operations, and behind each of them (EXPLORER.md, "Second
// lives"). Both explorers walk here.
#ifndef POWERCUT_REPLAYER_EXPLORER_LIFE_WALK_H_
#define POWERCUT_REPLAYER_EXPLORER_LIFE_WALK_H_

#include <memory>
#include <vector>

#include "replayer/executor/executor.h"
#include "replayer/search/subject.h"

namespace powercut {

// A power cut in a second life.
struct LifeCut {
  Cut cut;
  Subject::LifePoint at;                                   // what is known there
  std::shared_ptr<const std::vector<NestedStore>> stores;  // of recovery and continuation, of one whole way
};

class LifeWalk {
 public:
  // Both outlive this object.
  LifeWalk(Executor* executor, Subject* subject) : executor_(executor), subject_(subject) {}

  // Walks from the recovered table at hand, and adds the cuts to `out`; leaves the executor as it was. `level`: where
  // the recovery began; `recovery`: what it has stored.
  void walk(const Subject::LifePoint& begun, const UndecidedMemory::Mark& level, const NestedCuts& recovery,
            std::vector<LifeCut>* out);

 private:
  void go_on(const Subject::LifePoint& at, const NestedCuts& before);

  Executor* executor_;
  Subject* subject_;
  UndecidedMemory::Mark level_{};
  std::vector<LifeCut>* out_ = nullptr;
  ResultBuffer buffer_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_LIFE_WALK_H_

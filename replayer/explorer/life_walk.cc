#include "replayer/explorer/life_walk.h"

#include <utility>

#include "tracer/world/virtual_world.h"

namespace powercut {

void LifeWalk::walk(const Subject::LifePoint& begun, const UndecidedMemory::Mark& level, const NestedCuts& recovery,
                    std::vector<LifeCut>* out) {
  level_ = level;
  out_ = out;
  go_on(begun, recovery);
}

void LifeWalk::go_on(const Subject::LifePoint& at, const NestedCuts& before) {
  const Subject::LifePoint begun = subject_->step_begun(at);
  if (begun == nullptr) return;
  Decisions decisions;
  const UndecidedMemory::Mark start = executor_->memory().mark();
  std::vector<Cut> cuts;
  do {
    cuts.clear();
    buffer_.clear();
    executor_->reads().begin(start.arena);
    Outcome outcome =
        executor_->run_continued(&decisions, level_, before, &cuts, [&] { subject_->run_step(begun, &buffer_); });
    finish_answer(executor_, &outcome, &buffer_);
    if (const uint32_t sources = std::exchange(virtual_world.used, 0); sources != 0) {
      executor_->runner().doubt("an operation of the second life asks for " + names_of_sources(sources) +
                                ", of which other values were not tried");
    }
    NestedCuts now = executor_->recovery().nested();
    const auto stores = std::make_shared<const std::vector<NestedStore>>(now.stores());
    for (Cut& cut : cuts) out_->push_back({std::move(cut), begun, stores});
    std::string trouble;
    const Subject::LifePoint ended = subject_->step_ended(begun, outcome, buffer_.view(), &trouble);
    if (!trouble.empty()) executor_->runner().doubt(std::move(trouble));
    if (ended != nullptr) {
      std::optional<Cut> after = now.cut_after(executor_->memory().narrowed(level_.decided));
      if (after) out_->push_back({std::move(*after), ended, stores});
      go_on(ended, now);
    }
    executor_->memory().undo(start);
  } while (!executor_->stopped() && decisions.advance());
}

}  // namespace powercut

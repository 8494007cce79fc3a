#include "replayer/search/query_search.h"

namespace powercut {

bool QuerySearch::run(const std::function<void()>& query, Ended ended, uint64_t most) {
  const UndecidedMemory::Mark start = executor_->memory().mark();
  const uint64_t before = runs();
  decisions_.clear();
  for (uint64_t done = 0; runs() - before < most && !executor_->stopped(); ++done) {
    if (done == merge_after_) {
      MergedSearch search(executor_, answer_, &merged_);
      if (search.run(query, [&](Outcome* end) { return ended(end, nullptr) && runs() - before < most; })) {
        return runs() - before < most;
      }
    }
    answer_->clear();
    ++executions_;
    Outcome outcome = executor_->run(&decisions_, query);
    const bool more = ended(&outcome, &decisions_);
    executor_->memory().undo(start);
    if (!more || !decisions_.advance()) return true;
  }
  return false;
}

}  // namespace powercut

#include "checker/exploration/trees/read_tree.h"

#include <utility>

namespace powercut {

Outcomes::Id Outcomes::of(const ProgramOutcome& outcome) {
  std::string key =
      name_of(outcome.step) + '/' + std::to_string(static_cast<int>(outcome.kind)) + '/' + std::to_string(outcome.code);
  for (const auto& printed : outcome.printed) key += '/' + std::to_string(printed.digest[0]);
  for (auto [at, end] = known_.equal_range(key); at != end; ++at) {
    if (outcomes_[at->second].same(outcome)) return at->second;
  }
  outcomes_.push_back(outcome);
  return known_.emplace(std::move(key), static_cast<Id>(outcomes_.size() - 1))->second;
}

ReadNode* ReadNode::split(size_t at) {
  auto behind = std::make_unique<ReadNode>();
  behind->steps.assign(steps.begin() + static_cast<ptrdiff_t>(at) + 1, steps.end());
  behind->question = std::exchange(question, steps[at].question);
  behind->next = std::exchange(next, {});
  behind->outcome = std::exchange(outcome, std::nullopt);
  ReadNode* const out = behind.get();
  next.emplace(steps[at].answer, std::move(behind));
  steps.resize(at);
  return out;
}

}  // namespace powercut

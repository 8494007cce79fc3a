#include "checker/exploration/trees/tree_runs.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "checker/subjects/program/outputs/judge.h"

namespace powercut {

Result<std::vector<TreeRun>> TreeRuns::run(files::TreeWorld* world, const std::vector<files::ChosenTree>& trees) {
  struct Made {
    std::optional<TreeWorker::Ran> once, again;
    std::optional<EngineError> wrong;
  };
  std::vector<Made> made(trees.size());
  std::atomic<size_t> next = 0;
  const uint64_t before = made_;
  const auto work = [&](TreeWorker& worker) {
    for (size_t at = next++; at < trees.size(); at = next++) {
      const ServedTree tree(world, trees[at], &mode_);
      auto once = worker.run(tree, {.continued = continued_});
      if (!once) {
        made[at].wrong = once.error();
        continue;
      }
      made[at].once = std::move(*once);
      const uint64_t number = before + at;
      const bool repeated = number < kAllRepeated || number % kRepeatedOf == 0;
      // A run that does not end is not waited for a third time.
      if (!repeated || made[at].once->outcome.kind == ProgramOutcome::Kind::kTimeout) continue;
      auto again = worker.run(tree, {.elsewhere = true, .continued = continued_});
      if (!again) {
        made[at].wrong = again.error();
      } else {
        made[at].again = std::move(*again);
      }
    }
  };
  if (workers_.size() == 1 || trees.size() == 1) {
    work(*workers_[0]);
  } else {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < std::min(workers_.size(), trees.size()); ++i) {
      threads.emplace_back([&work, &worker = *workers_[i]] { work(worker); });
    }
  }
  std::vector<TreeRun> out;
  for (size_t at = 0; at < trees.size(); ++at) {
    if (made[at].wrong) return *made[at].wrong;
    const TreeWorker::Ran& once = *made[at].once;
    ++made_;
    ++counts_->runs;
    if (once.outcome.kind == ProgramOutcome::Kind::kTimeout) ++counts_->timeouts;
    counts_->left_processes = counts_->left_processes || once.outcome.left_processes;
    if (made[at].again) {
      ++counts_->repeats;
      const ProgramOutcome& again = made[at].again->outcome;
      if (!once.outcome.alike(again, ordered_) && counts_->unrepeatable.empty()) {
        counts_->unrepeatable = outcome_difference(once.outcome, again, ordered_);
      }
    }
    out.push_back({questions_of(once.observations, world, trees[at]), outcomes_.of(once.outcome)});
  }
  return out;
}

std::optional<EngineError> TreeRuns::look(files::TreeWorld* world, const files::ChosenTree& tree, const Look& look) {
  const ServedTree met(world, tree, &mode_);
  const auto ran = workers_[0]->run(met, {.continued = continued_});
  if (!ran) return ran.error();
  look(met, *workers_[0]->left());
  return std::nullopt;
}

Result<RecoveryMade> TreeRuns::changes_of(files::TreeWorld* world, const files::ChosenTree& tree, uint64_t first_new) {
  const ServedTree met(world, tree, &mode_);
  auto ran = workers_[0]->run(met, {.keep_changes = true, .continued = continued_, .first_new = first_new});
  if (!ran) return ran.error();
  return RecoveryMade{std::move(ran->changes), ran->of_recovery};
}

Result<bool> TreeRuns::repeat(files::TreeWorld* world, const files::ChosenTree& tree, Outcomes::Id outcome) {
  auto again = workers_[0]->run(ServedTree(world, tree, &mode_), {.elsewhere = true, .continued = continued_});
  if (!again) return again.error();
  ++counts_->repeats;
  if (outcomes_[outcome].alike(again->outcome, ordered_)) return true;
  if (counts_->unrepeatable.empty())
    counts_->unrepeatable = outcome_difference(outcomes_[outcome], again->outcome, ordered_);
  return false;
}

}  // namespace powercut

#include "checker/audit/audit_predictor.h"

#include <algorithm>
#include <optional>

#include "absl/container/node_hash_map.h"
#include "checker/exploration/chunks/exploration.h"
#include "replayer/search/recovery_trie.h"

namespace powercut {
namespace {

class ExecutorPredictor final : public Predictor {
 public:
  ExecutorPredictor(const LoadedTrace& loaded, const std::string& model, AtomPolicy policy, int64_t budget)
      : loaded_(loaded), executor_(executor_options(loaded, model, policy, budget)) {}

  uint8_t* pool() override { return executor_.pool(); }

  void at(const AuditPoint& point) override {
    if (!oracle_) {
      oracle_.emplace(loaded_.library->target(), *loaded_.config, loaded_.traits,
                      powercut_pool{executor_.pool_address(), loaded_.plan.scenario.pool_size}, &point.history,
                      [](const Exposure&) {});
    }
    sets_ = &point.sets;
  }

  void image(const std::vector<uint32_t>& contents) override {
    level_.emplace(*sets_);
    for (size_t i = 0; i < contents.size(); ++i) level_->choose(i, contents[i]);
    executor_.memory().install(level_->sets());
    Decisions none;  // every line has one content, so that nothing branches
    buffer_.clear();
    keep(kRecoveryQuery, executor_.run_recovery(&none, nullptr, [this] { oracle_->recover(&buffer_); }));
    const bool usable = !results_.at(kRecoveryQuery)[0].starts_with('!') && oracle_->usable();
    asked_ = usable ? all_queries(&*oracle_) : std::vector<QueryId>{};
    std::sort(asked_.begin(), asked_.end());
    leaf_ = executor_.memory().mark();
  }

  const std::vector<QueryId>& asked() override { return asked_; }

  const std::vector<std::string>& predicted(QueryId query) override {
    const auto known = results_.find(query);
    if (known != results_.end()) return known->second;
    if (!std::binary_search(asked_.begin(), asked_.end(), query)) return unknown_;
    Decisions none;
    buffer_.clear();
    keep(query, executor_.run(&none, [&] { oracle_->run(query, &buffer_); }));
    executor_.memory().undo(leaf_);
    return results_.at(query);
  }

  void done() override {
    executor_.memory().uninstall();
    results_.clear();
  }

 private:
  void keep(QueryId query, const Outcome& outcome) {
    if (!outcome.returned()) oracle_->ended(query, outcome, &buffer_);
    results_[query] = {std::string(buffer_.view())};
  }

  const LoadedTrace& loaded_;
  Executor executor_;
  std::optional<Oracle> oracle_;
  const LineSets* sets_ = nullptr;
  ResultBuffer buffer_;
  std::optional<ConcreteLevel> level_;
  UndecidedMemory::Mark leaf_{};
  const std::vector<std::string> unknown_;
  std::vector<QueryId> asked_;
  absl::node_hash_map<QueryId, std::vector<std::string>> results_;  // node: references stay good
};

class ExplorerPredictor final : public Predictor {
 public:
  ExplorerPredictor(const LoadedTrace& loaded, const std::string& model, AtomPolicy policy, int64_t budget)
      : loaded_(loaded), executor_(executor_options(loaded, model, policy, budget)) {}

  uint8_t* pool() override { return executor_.pool(); }

  void pass(const Instant& instant, const Frontier& frontier, const std::vector<Frontier::Change>& changes,
            const History& history) override {
    if (!oracle_) {
      oracle_.emplace(loaded_.library->target(), *loaded_.config, loaded_.traits,
                      powercut_pool{executor_.pool_address(), loaded_.plan.scenario.pool_size}, &history,
                      [](const Exposure&) {});
      explorer_ = make_trie_explorer(&executor_, &*oracle_, {.nested = 1, .keep_answers = true});
    }
    explorer_->crash_point(frontier, changes, instant.ordinal);
  }

  void at(const AuditPoint& point) override { sets_ = &point.sets; }

  void image(const std::vector<uint32_t>& contents) override {
    ConcreteLevel level(*sets_);
    for (size_t i = 0; i < contents.size(); ++i) level.choose(i, contents[i]);
    const std::shared_ptr<const RecoveredState> state = explorer_->recall(level.sets());
    recovery_.clear();
    asked_.clear();
    if (state == nullptr) return;
    recovery_ = {state->result};
    if (!state->outcome.returned() || !state->opened.usable) return;
    oracle_->reopen(state->opened);
    asked_ = all_queries(&*oracle_);
    std::sort(asked_.begin(), asked_.end());
  }

  const std::vector<QueryId>& asked() override { return asked_; }
  const std::vector<std::string>& predicted(QueryId query) override {
    if (query == kRecoveryQuery) return recovery_;
    const std::vector<std::string>& known = explorer_->answers(query);
    if (kind_of(query) != QueryKind::kBystander) return known;
    // A bystander is asked only where it might notice something.
    bystander_ = known;
    bystander_.emplace_back(NewKeys::kUndisturbed);
    return bystander_;
  }
  void done() override {}

 private:
  const LoadedTrace& loaded_;
  Executor executor_;
  std::optional<Oracle> oracle_;
  std::unique_ptr<MemoExplorer> explorer_;
  const LineSets* sets_ = nullptr;
  std::vector<std::string> recovery_, bystander_;
  std::vector<QueryId> asked_;
};

}  // namespace

bool Predictor::allows(QueryId query, std::string_view result) {
  const std::vector<std::string>& results = predicted(query);
  return std::find(results.begin(), results.end(), result) != results.end();
}

bool Predictor::stops(QueryId query) {
  // It says nothing of a new key whose insert is stopped.
  if (kind_of(query) == QueryKind::kBystander && stops(query_id(QueryKind::kNewKey, 0))) return true;
  const std::vector<std::string>& results = predicted(query);
  return std::any_of(results.begin(), results.end(), [](std::string_view result) {
    if (result.size() != 3 || result[0] != '!') return false;
    const auto kind = static_cast<Outcome::Kind>(result[1]);
    return kind == Outcome::Kind::kWildStore || kind == Outcome::Kind::kSteps || kind == Outcome::Kind::kUnknown;
  });
}

PredictorFactory executor_predictor(const std::string& model, AtomPolicy policy, int64_t step_budget) {
  return [=](const LoadedTrace& loaded) -> std::unique_ptr<Predictor> {
    return std::make_unique<ExecutorPredictor>(loaded, model, policy, step_budget);
  };
}

PredictorFactory explorer_predictor(const std::string& model, AtomPolicy policy, int64_t step_budget) {
  return [=](const LoadedTrace& loaded) -> std::unique_ptr<Predictor> {
    return std::make_unique<ExplorerPredictor>(loaded, model, policy, step_budget);
  };
}

}  // namespace powercut

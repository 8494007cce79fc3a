#include "checker/native/exploration.h"

#include <algorithm>
#include <chrono>

namespace powercut {

int64_t step_budget(int64_t given, uint64_t pool_size) {
  return given > 0 ? given : 500'000 + static_cast<int64_t>(pool_size / 8);
}

Exploration::Exploration(const Session& session, const ExploreOptions& options, std::unique_ptr<TraceReader> reader,
                         Report report)
    : options_(options),
      reader_(std::move(reader)),
      model_(make_model(options.model, options.policy(), session.plan.scenario.pool_size)),
      walk_(reader_.get(), model_.get(), session.explored_at_start()),
      executor_({.pool_size = session.plan.scenario.pool_size,
                 .policy = options.policy(),
                 .caches_persist = options.model == "eadr",
                 .step_budget = step_budget(options.step_budget, session.plan.scenario.pool_size),
                 .globals = session.globals,
                 .own_code = executable_code()}),
      frontier_(executor_.pool()),
      frames_(session.modules, session.loaded),
      strategy_(make_strategy(options.strategy, {.seed = options.seed, .samples = options.samples})),
      oracle_(session.library->target(), *session.config, session.traits,
              {executor_.pool(), session.plan.scenario.pool_size}, &walk_.history(),
              [this](const Exposure& exposure) {
                report_(instant_->ordinal, finding_event(exposure, {*model_, frontier_, walk_.history(), timeline_,
                                                                    *reader_, *instant_, &frames_, options_.policy()}));
              }),
      explorer_(&executor_, strategy_.get(), &oracle_,
                {.nested = options.nested, .paranoid = options.paranoid, .remember = options.remember}),
      report_(std::move(report)) {
  if (!options.dump_results.empty()) {
    dump_.open(options.dump_results, std::ios::trunc);
    oracle_.collect(true);
  }
}

void Exploration::visit(const Instant& instant) {
  if (instant.ordinal < first_ || instant.ordinal >= last_ || counts_.stopped || !counts_.distrust.empty()) return;
  if (!(*begin_)(instant.ordinal)) {
    counts_.stopped = true;
    return;
  }
  if (skip_->contains(instant.ordinal)) {
    counts_.complete = false;
    return;
  }
  instant_ = &instant;
  const std::vector<uint64_t> changed = lines_of(frontier_.follow(model_.get()));
  const auto start = std::chrono::steady_clock::now();
  counts_.covered += explorer_.crash_point(frontier_.sets(), changed, instant.ordinal);
  counts_.exploring_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++counts_.crash_points;
  counts_.distrust = explorer_.distrust();
  if (frontier_.truncated() || executor_.truncated()) counts_.complete = false;
  if (dump_.is_open()) {
    for (const std::string& line : oracle_.take_collected()) dump_ << instant.ordinal << ' ' << line << '\n';
    dump_.flush();
  }
}

ChunkCounts Exploration::explore(uint64_t first, uint64_t last, const std::set<uint64_t>& skip,
                                 const std::function<bool(uint64_t)>& begin) {
  first_ = first;
  last_ = last;
  skip_ = &skip;
  begin_ = &begin;
  counts_ = {};
  // Only the numbers: the set of leaves grows with the run.
  const uint64_t executions_before = explorer_.counts().executions;
  const uint64_t runs_before = explorer_.counts().query_runs;
  const uint64_t answers_before = explorer_.counts().query_answers;
  const uint64_t loads_before = executor_.loads();
  explorer_.forget();
  oracle_.forget();
  while (walk_.crash_points() < last && !counts_.stopped && counts_.distrust.empty()) {
    if (!walk_.advance([this](const Instant& instant) { visit(instant); },
                       [this](const Event& event) { timeline_.apply(event); })) {
      break;
    }
  }
  const ExplorerCounts& after = explorer_.counts();
  counts_.executions = after.executions - executions_before;
  counts_.query_runs = after.query_runs - runs_before;
  counts_.query_answers = after.query_answers - answers_before;
  counts_.loads = executor_.loads() - loads_before;
  counts_.complete = counts_.complete && strategy_->complete() && !counts_.stopped && counts_.distrust.empty();
  return counts_;
}

std::vector<uint64_t> Exploration::take_leaves() {
  std::vector<uint64_t> out;
  for (uint64_t leaf : explorer_.counts().leaves) {
    if (leaves_sent_.insert(leaf).second) out.push_back(leaf);
  }
  return out;
}

}  // namespace powercut

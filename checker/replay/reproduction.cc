#include "checker/replay/reproduction.h"

#include <algorithm>
#include <utility>

#include "checker/oracle/queries.h"
#include "checker/trace/explore_options.h"

namespace powercut {
namespace {

constexpr const char* kNextForFindings =
    "Name the trace that the finding was made on; after a change of the target, 'powercut run' tells whether it is "
    "still there.";

LevelContents contents_of(const std::vector<FindingRecord::Line>& lines) {
  LevelContents out;
  for (const FindingRecord::Line& line : lines) {
    out.lines.push_back({line.line, LevelContents::Take::kBytes, line.content, line.decided});
  }
  return out;
}

ConcreteImage image_of(const FindingRecord& record) {
  ConcreteImage out{contents_of(record.image), {}};
  for (const FindingRecord::Nested& nested : record.nested) {
    out.nested.push_back({nested.after_return, nested.stores, contents_of(nested.lines)});
  }
  return out;
}

}  // namespace

Reproduction::Reproduction(const LoadedTrace& loaded, const FindingRecord& record, int64_t step_budget,
                           std::unique_ptr<TraceReader> reader, Progress* progress)
    : loaded_(loaded),
      record_(record),
      policy_(*atom_policy(record.atoms)),
      executor_(executor_options(loaded, loaded.model_for(record.model), policy_, step_budget)),
      follower_(loaded, loaded.model_for(record.model), policy_, std::move(reader), executor_.pool()),
      frames_(loaded.modules, loaded.process_modules),
      oracle_(loaded.library->target(), *loaded.config, loaded.traits,
              {executor_.pool_address(), loaded.plan.scenario.pool_size}, &follower_.history(), [](const Exposure&) {}),
      progress_(progress),
      replay_(&executor_, &oracle_, &buffer_) {
  oracle_.set_background(loaded.library->background());
}

EngineError Reproduction::elsewhere(const std::string& what) const {
  return usage_error(what, loaded_.trace, kNextForFindings);
}

Result<Reproduction::Shown> Reproduction::run() {
  const auto differs = [](const std::string& ours, const std::string& theirs) {
    return !ours.empty() && ours != theirs;
  };
  const Plan& plan = loaded_.plan;
  if (differs(record_.target, plan.target.name) || differs(record_.variant, plan.target.variant) ||
      differs(record_.scenario, plan.scenario.name)) {
    return elsewhere("the trace is of " + plan.target.name + ":" + plan.target.variant + ", scenario " +
                     plan.scenario.name + ", the finding of " + record_.target + ":" + record_.variant + ", scenario " +
                     record_.scenario);
  }
  progress_->start("walking to crash point " + std::to_string(record_.crash_point), loaded_.trace);
  bool there = false;
  while (!there && follower_.next([this](const Event&) { progress_->steps.fetch_add(1, std::memory_order_relaxed); })) {
    there = follower_.instant().ordinal == record_.crash_point;
  }
  if (const auto error = follower_.error()) return usage_error(*error);
  if (!there) {
    return elsewhere("the finding is at crash point " + std::to_string(record_.crash_point) + ", and the trace has " +
                     std::to_string(follower_.crash_points()) + " of them: it is of another build or plan");
  }
  return replay(follower_.instant());
}

Result<Reproduction::Shown> Reproduction::replay(const Instant& instant) {
  if (instant.event != record_.event || instant.when != record_.when) {
    const auto place = [](const std::string& when, uint64_t event) {
      return when + " at event " + std::to_string(event);
    };
    return elsewhere("crash point " + std::to_string(record_.crash_point) + " of the trace is " +
                     place(instant.when, instant.event) + ", that of the finding is " +
                     place(record_.when, record_.event) + ": the trace is of another build or plan");
  }
  if (follower_.trouble()) {
    Shown out;
    FunctionalCheck(loaded_, policy_, &executor_, &oracle_, &follower_, &frames_, [&out](const Json& finding) {
      out = finding;
    }).tell(exposure_of(*follower_.trouble()));
    return out;
  }
  follower_.follow();
  if (drawing_) draw_visible();
  progress_->start("recovery", loaded_.library->path());
  std::optional<EngineError> error;
  const auto refused = replay_.run(image_of(record_), follower_.frontier().sets(),
                                   [&](const Outcome& recovered) { error = judge(recovered); });
  if (refused) return usage_error(*refused, record_.path, kNextForFindings);
  if (error) return *error;
  return told();
}

Reproduction::Shown Reproduction::told() {
  Shown out;
  if (!shown_) return out;
  FunctionalCheck check(loaded_, policy_, &executor_, &oracle_, &follower_, &frames_,
                        [&out](const Json& finding) { out = finding; });
  progress_->start("recovery with nothing lost", loaded_.library->path());
  check.judge({*shown_});
  while (check.waiting() && follower_.next()) {
    progress_->steps.fetch_add(1, std::memory_order_relaxed);
    if (!check.settles_here()) continue;
    follower_.follow();
    check.settle();
  }
  check.give_up();
  return out;
}

std::optional<EngineError> Reproduction::judge(const Outcome& recovered) {
  if (steps_) steps_->end();
  recovered_ = true;
  const Answer answer = parse_answer(QueryKind::kRecovery, buffer_.view());
  if (auto violation = judge_recovery(follower_.history(), answer, recovered.text)) {
    replay_.note_reads();
    show(*violation, kRecoveryQuery, recovered);
    return std::nullopt;
  }
  if (drawing_ && oracle_.usable()) draw_into(&after_);
  if (record_.query == describe_query(follower_.history(), kRecoveryQuery) || !oracle_.usable()) return std::nullopt;

  const std::vector<QueryId> queries = all_queries(&oracle_);
  const auto query = std::find_if(queries.begin(), queries.end(), [&](QueryId candidate) {
    return describe_query(follower_.history(), candidate) == record_.query;
  });
  if (query == queries.end()) {
    return usage_error("the recovered table cannot be asked " + record_.query, record_.path, kNextForFindings);
  }
  if (asks_key(kind_of(*query))) focus_.key = follower_.history().keys()[argument_of(*query)].bytes;
  progress_->start(record_.query, loaded_.library->path());
  buffer_.clear();
  Decisions decisions;
  if (steps_) steps_->begin(RecoverySteps::Part::kQuery);
  const Outcome outcome = executor_.run(&decisions, [&] { oracle_.run(*query, &buffer_); });
  if (steps_) steps_->end();
  if (!outcome.returned()) oracle_.ended(*query, outcome, &buffer_);
  const auto violation = judge_query(follower_.history(), loaded_.traits, *query, buffer_.view());
  if (!violation) return std::nullopt;
  replay_.note_reads();
  show(*violation, *query, outcome);
  return std::nullopt;
}

void Reproduction::draw_visible() {
  const OperationInfo& operation = follower_.history().operation();
  if (operation.has_key) focus_.key = follower_.history().keys()[operation.key].bytes;
  for (const LineSet* set : follower_.frontier().sets()) {
    const Content& seen = set->contents[set->visible];
    visible_.push_back({.line = set->line, .contents = {seen}, .base = {}, .visible = 0, .diff = 0});
    const auto listed = std::find_if(record_.image.begin(), record_.image.end(),
                                     [&](const FindingRecord::Line& line) { return line.line == set->line; });
    if (listed != record_.image.end() && !(listed->content == seen)) focus_.lines.insert(set->line);
  }
  executor_.memory().install(sets_of(visible_));
  Decisions decisions;
  const UndecidedMemory::Mark start = executor_.memory().mark();
  buffer_.clear();
  const Outcome outcome = executor_.run_recovery(&decisions, nullptr, [&] { oracle_.recover(&buffer_); });
  if (outcome.returned() && oracle_.usable()) draw_into(&before_);
  executor_.memory().undo(start);
  executor_.memory().uninstall();
}

// A drawing that does not return, or fails, is left out. The stores of any drawing are undone.
void Reproduction::draw_into(std::optional<std::vector<DrawnCells::Cell>>* out) {
  DrawnCells cells;
  const UndecidedMemory::Mark start = executor_.memory().mark();
  Decisions decisions;
  powercut_status status = POWERCUT_UNSUPPORTED;
  auto* table = reinterpret_cast<powercut_table*>(oracle_.opened().table);
  const Outcome outcome =
      executor_.run(&decisions, [&] { status = cells.draw(loaded_.library->draw(), table, executor_.pool_address()); });
  executor_.memory().undo(start);
  if (outcome.returned() && status == POWERCUT_OK) *out = cells.cells();
}

void Reproduction::keep_steps() {
  std::set<uint64_t> pending;
  for (const FindingRecord::Line& line : record_.image) pending.insert(line.line);
  for (const FindingRecord::Nested& nested : record_.nested) {
    for (const FindingRecord::Line& line : nested.lines) pending.insert(line.line);
  }
  steps_ = std::make_unique<RecoverySteps>(&executor_, std::move(pending));
  replay_.before_last([this] { steps_->begin(RecoverySteps::Part::kRecovery); });
}

Json Reproduction::steps() { return recovered_ ? steps_->json(&frames_) : Json(nullptr); }

Json Reproduction::drawing() const {
  if (!before_) return nullptr;
  return drawing_json(*before_, after_ ? &*after_ : nullptr, follower_.history(), focus_);
}

void Reproduction::show(const Violation& violation, QueryId query, const Outcome& outcome) {
  const auto depth = static_cast<int>(record_.nested.size());
  shown_ = {violation, "", depth, query, outcome, replay_.image()};
  if (depth > 0) shown_->underlying = std::exchange(shown_->violation.invariant, "not-idempotent");
}

}  // namespace powercut

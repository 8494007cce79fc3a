#include "checker/replay/library_images.h"

#include <filesystem>
#include <utility>

#include "checker/oracle/invariants.h"
#include "checker/oracle/queries.h"
#include "checker/trace/explore_options.h"

namespace powercut {
namespace {

Json violation_json(const Violation& violation, const std::string& query, bool nested, Json fault) {
  return {{"invariant", nested ? "not-idempotent" : violation.invariant},
          {"underlying", nested ? Json(violation.invariant) : Json(nullptr)},
          {"query", query},
          {"message", violation.message},
          {"expected", violation.expected},
          {"found", violation.found},
          {"fault", std::move(fault)}};
}

}  // namespace

LibraryImages::LibraryImages(const LoadedTrace& loaded, const std::string& model, AtomPolicy policy,
                             int64_t step_budget, std::unique_ptr<TraceReader> reader, Progress* progress)
    : loaded_(loaded),
      executor_(executor_options(loaded, model, policy, step_budget)),
      follower_(loaded, model, policy, std::move(reader), executor_.pool()),
      oracle_(loaded.library->target(), *loaded.config, loaded.traits,
              {executor_.pool_address(), loaded.plan.scenario.pool_size}, &follower_.history(), [](const Exposure&) {}),
      progress_(progress),
      replay_(&executor_, &oracle_, &buffer_),
      frames_({}, process_modules()) {
  oracle_.set_background(loaded.library->background());
  executor_.reads().want_heap(false);  // nobody asks what was read of the heap
}

void LibraryImages::saw(const Event&) { progress_->steps.fetch_add(1, std::memory_order_relaxed); }

std::optional<EngineError> LibraryImages::judge(const std::vector<const JudgeRequest*>& wanted, const Tell& tell) {
  follower_.follow();
  const LineSets legal = follower_.frontier().sets();
  progress_->start("recovery and queries at crash point " + std::to_string(follower_.instant().ordinal),
                   loaded_.library->path());
  for (const JudgeRequest* request : wanted) {
    progress_->steps.fetch_add(1, std::memory_order_relaxed);
    JudgedImage judged;
    judged.refused = replay_.run(request->image, legal, [&](const Outcome& recovered) {
      judged.violations = violations(recovered, !request->image.nested.empty());
    });
    tell(*request, std::move(judged));
  }
  return std::nullopt;
}

Json LibraryImages::violations(const Outcome& recovered, bool nested) {
  const History& history = follower_.history();
  Json out = Json::array();
  const Answer answer = parse_answer(QueryKind::kRecovery, buffer_.view());
  if (const auto violation = judge_recovery(history, answer, recovered.text)) {
    out.push_back(violation_json(*violation, describe_query(history, kRecoveryQuery), nested, fault(recovered)));
    return out;
  }
  if (!oracle_.usable()) return out;
  Decisions decisions;
  const UndecidedMemory::Mark leaf = executor_.memory().mark();
  for (QueryId query : all_queries(&oracle_)) {
    buffer_.clear();
    const Outcome outcome = executor_.run(&decisions, [&] { oracle_.run(query, &buffer_); });
    if (!outcome.returned()) oracle_.ended(query, outcome, &buffer_);
    if (const auto violation = judge_query(history, loaded_.traits, query, buffer_.view())) {
      out.push_back(violation_json(*violation, describe_query(history, query), nested, fault(outcome)));
    }
    executor_.memory().undo(leaf);
  }
  return out;
}

Json LibraryImages::fault(const Outcome& outcome) {
  // Where a loop is when its steps are used up, or what libc calls to abort, tells no bug from another.
  if (outcome.returned() || outcome.kind == Outcome::Kind::kSteps || outcome.kind == Outcome::Kind::kAbort)
    return nullptr;
  Json out = Json::array();
  for (const Frame& frame : frames_.resolve(outcome.stack)) {
    out.push_back({std::filesystem::path(frames_.modules()[frame.module].path).filename().string(), frame.offset});
  }
  return out;
}

}  // namespace powercut

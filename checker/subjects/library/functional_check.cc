#include "checker/subjects/library/functional_check.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "checker/findings/finding_parts.h"
#include "checker/subjects/library/finding.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

// The operations that the threads have taken up in the schedule, thread by thread: the client, where the workload
// leaves the choice open.
Json client_json(const std::vector<KeptEvent>& schedule) {
  std::map<uint32_t, Json> programs;  // by thread
  for (const KeptEvent& kept : schedule) {
    const Event event = kept.view();
    if (event.kind != EventKind::kOpBegin) continue;
    Json& program = programs.try_emplace(event.thread, Json::array()).first->second;
    program.push_back({{"thread", event.thread},
                       {"kind", name_of(static_cast<OpKind>(event.code))},
                       {"key", hex(event.key)},
                       {"text", std::string(event.text)}});
  }
  Json out = Json::array();
  for (auto& [thread, program] : programs) {
    for (Json& operation : program) out.push_back(std::move(operation));
  }
  return out;
}

// Two failures of one query have the same symptom if they share the invariant and the place where an execution died.
// The very answer does not count: a table that is wrong without a cut may answer otherwise when something is lost as
// well.
std::string symptom_of(const Exposure& exposure) {
  const std::string& invariant = exposure.underlying.empty() ? exposure.violation.invariant : exposure.underlying;
  const std::vector<uint64_t>& stack = exposure.outcome.stack;
  return absl::StrCat(invariant, "/", exposure.outcome.signal, "/", stack.empty() ? 0 : stack.front());
}

}  // namespace

std::vector<std::optional<Exposure>> FunctionalCheck::ask(const std::vector<QueryId>& queries) {
  const History& history = follower_->history();
  std::vector<LineSet> visible;
  Image image{{{}}, {}};
  for (const LineSet* set : follower_->frontier().sets()) {
    const Content& seen = set->contents[set->visible];
    visible.push_back({.line = set->line, .contents = {seen}, .base = {}, .visible = 0, .diff = 0});
    image.levels[0].push_back({set->line, seen, static_cast<uint32_t>(set->contents.size()), false});
  }
  executor_->memory().install(sets_of(visible));

  std::vector<std::optional<Exposure>> out;
  Decisions none;  // every line has one content, so that nothing branches
  buffer_.clear();
  executor_->reads().begin(executor_->memory().mark().arena);
  const Outcome recovered = executor_->run_recovery(&none, nullptr, [this] { oracle_->recover(&buffer_); });
  if (!recovered.returned()) put_failure(recovered, &buffer_);
  const auto failed = judge_recovery(history, parse_answer(QueryKind::kRecovery, buffer_.view()), recovered.text);
  const bool usable = recovered.returned() && oracle_->usable();
  const UndecidedMemory::Mark leaf = executor_->memory().mark();
  for (QueryId query : queries) {
    std::optional<Exposure>& answer = out.emplace_back();
    if (query == kRecoveryQuery) {
      if (failed) answer = {*failed, "", 0, query, recovered, image};
      continue;
    }
    if (failed || !usable || !oracle_->can_ask(query)) continue;
    buffer_.clear();
    const Outcome outcome = executor_->run(&none, [&] { oracle_->run(query, &buffer_); });
    if (!outcome.returned()) oracle_->ended(query, outcome, &buffer_);
    if (auto violation = judge_query(history, loaded_.traits, query, buffer_.view())) {
      answer = {std::move(*violation), "", 0, query, outcome, image};
    }
    executor_->memory().undo(leaf);
  }
  executor_->memory().uninstall();
  return out;
}

void FunctionalCheck::report(const Json& finding) {
  if (stopped_) return;
  report_(finding);
  stopped_ = stops_ && !finding.value("needs_power_cut", true);
}

void FunctionalCheck::judge(const std::vector<Exposure>& exposures, bool trusted) {
  if (!trusted) give_up();
  if (waiting() && settles_here()) settle();
  if (exposures.empty() || stopped_) return;
  std::vector<std::optional<Exposure>> uncut(exposures.size());
  if (trusted && !was_cut_) {
    std::vector<QueryId> queries;
    for (const Exposure& exposure : exposures) queries.push_back(exposure.query);
    uncut = ask(queries);
  }
  std::set<std::string> told;  // many images of one functional bug are one finding
  std::vector<size_t> order;
  const auto by_probe = [&](size_t i) { return stops_ && uncut[i] && uncut[i]->violation.invariant == "unusable"; };
  // Where the first finding ends the run: a wrong answer of the table says more than a probe that fails because of it.
  for (const bool probes : {false, true}) {
    for (size_t i = 0; i < exposures.size(); ++i) {
      if (by_probe(i) == probes) order.push_back(i);
    }
  }
  for (const size_t i : order) {
    if (exposures[i].life != nullptr || !uncut[i] || symptom_of(*uncut[i]) != symptom_of(exposures[i])) {
      report(event(exposures[i]));
      continue;
    }
    uncut[i]->needs_power_cut = false;
    Json without = event(*uncut[i]);
    if (follower_->history().in_flight() && follower_->in_tree()) {
      report(event(exposures[i]));  // the crash points that come next are of other schedules
    } else if (follower_->history().in_flight()) {
      waiting_.push_back({exposures[i].query, symptom_of(*uncut[i]), event(exposures[i]), std::move(without)});
    } else if (told.insert(without["key"].get<std::string>()).second) {
      report(without);
    }
  }
}

void FunctionalCheck::settle() {
  std::vector<QueryId> queries;
  for (const Waiting& finding : waiting_) queries.push_back(finding.query);
  const std::vector<std::optional<Exposure>> uncut = ask(queries);
  std::set<std::string> told;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    if (!uncut[i] || symptom_of(*uncut[i]) != waiting_[i].symptom) {
      report(waiting_[i].with_cut);
    } else if (told.insert(waiting_[i].without_cut["key"].get<std::string>()).second) {
      report(waiting_[i].without_cut);
    }
  }
  waiting_.clear();
}

void FunctionalCheck::give_up() {
  for (const Waiting& finding : waiting_) report(finding.with_cut);
  waiting_.clear();
}

Json FunctionalCheck::event(const Exposure& exposure) const {
  Json finding = finding_event(finding_of(exposure, *follower_, frames_), {*follower_, policy_});
  if (follower_->in_tree()) finding["client"] = client_json(follower_->schedule());
  return finding;
}

}  // namespace powercut

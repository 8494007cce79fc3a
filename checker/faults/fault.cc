#include "checker/faults/fault.h"

#include <string.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checker/findings/finding.h"
#include "checker/oracle/invariants.h"
#include "checker/oracle/new_keys.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

constexpr std::array<const char*, 10> kFaultKinds = {"media",         "bitflip",        "alloc",         "stale",
                                                     "shorn",         "unserialisable", "stale-mapping", "paired-page",
                                                     "unstable-read", "stuck-bits"};
constexpr std::array<const char*, 4> kEffects = {"harmless", "detected", "crashed", "silent"};

}  // namespace

std::string ending_of(const Outcome& outcome) {
  const bool says_why = outcome.kind == Outcome::Kind::kException && !outcome.text.empty();
  return ending_text(outcome.kind, outcome.signal) + (says_why ? " (" + outcome.text + ")" : "");
}

namespace {

// An execution that did not return. Dying of the error itself, or by an abort, is an end that nobody can take for
// an answer; anything else happened by accident.
FaultAnswer weigh_end(const std::string& what, const Outcome& outcome) {
  const bool meant =
      outcome.kind == Outcome::Kind::kAbort || (outcome.kind == Outcome::Kind::kSignal && outcome.signal == SIGBUS);
  FaultAnswer out;
  out.effect = meant ? FaultEffect::kDetected : FaultEffect::kCrashed;
  out.how = absl::StrCat(what, " ", ending_of(outcome));
  if (!meant && outcome.kind != Outcome::Kind::kUnknown) {
    const bool wild = outcome.kind == Outcome::Kind::kWildStore;
    const char* invariant = wild ? "wild-store"
                            : what == "open"
                                ? outcome.kind == Outcome::Kind::kSteps ? "recovery-hang" : "recovery-failed"
                                : "unusable";
    out.violation = {
        invariant, absl::StrCat(what, " ", ending_of(outcome), "."), {"an answer or an error"}, ending_of(outcome)};
  }
  return out;
}

FaultAnswer detected(const std::string& what, powercut_status status) {
  return {FaultEffect::kDetected, absl::StrCat(what, " answers ", status_name(status)), {}};
}

}  // namespace

const char* name_of(FaultKind kind) { return kFaultKinds[static_cast<size_t>(kind)]; }
const char* name_of(FaultEffect effect) { return kEffects[static_cast<size_t>(effect)]; }

std::optional<FaultKind> fault_kind(const std::string& name) {
  const auto at = std::find(kFaultKinds.begin(), kFaultKinds.end(), name);
  if (at == kFaultKinds.end()) return std::nullopt;
  return static_cast<FaultKind>(at - kFaultKinds.begin());
}

std::string fault_names() { return absl::StrJoin(kFaultKinds, ", "); }

std::optional<std::string> foreign_to(FaultKind kind, uint32_t medium) {
  switch (kind) {
    case FaultKind::kShorn:
    case FaultKind::kUnserialisable:
      if (medium != POWERCUT_BLOCK) return "block devices";
      break;
    case FaultKind::kStaleMapping:
      if (medium == POWERCUT_MEMORY) return "devices";
      break;
    case FaultKind::kPairedPage:
      if (medium != POWERCUT_FLASH) return "raw flash";
      break;
    case FaultKind::kUnstableRead:
    case FaultKind::kStuckBits:
      if (medium != POWERCUT_NOR) return "NOR flash";
      break;
    case FaultKind::kMedia:
    case FaultKind::kBitFlip:
    case FaultKind::kAllocation:
    case FaultKind::kStale:
      break;
  }
  return std::nullopt;
}

bool is_claimed(FaultKind kind, const powercut_traits& traits) {
  switch (kind) {
    case FaultKind::kMedia:
    case FaultKind::kAllocation:
      return true;
    case FaultKind::kBitFlip:
      return traits.detects_damage != 0;
    case FaultKind::kStale:
      return traits.needs_zeroed_pool == 0;
    case FaultKind::kShorn:
    case FaultKind::kUnserialisable:
    case FaultKind::kStaleMapping:
    case FaultKind::kPairedPage:
    case FaultKind::kUnstableRead:
    case FaultKind::kStuckBits:
      break;  // the device breaks its contract: no design promises to stand that
  }
  return false;
}

std::string describe_operation(const History& history) {
  const OperationInfo& operation = history.operation();
  std::string out = name_of(operation.kind);
  if (operation.has_key) absl::StrAppend(&out, " of key ", name_of(history.keys()[operation.key]));
  if (!operation.text.empty()) absl::StrAppend(&out, " '", operation.text, "'");
  return out;
}

FaultAnswer weigh_recovery(const Outcome& outcome, std::string_view result) {
  if (!outcome.returned()) return weigh_end("open", outcome);
  const Answer answer = parse_answer(QueryKind::kRecovery, result);
  if (answer.status == POWERCUT_OK) return {};
  return detected("open", answer.status);
}

FaultAnswer weigh_query(const History& history, const powercut_traits& traits, QueryId query, const Outcome& outcome,
                        std::string_view result) {
  const QueryKind kind = kind_of(query);
  if (kind == QueryKind::kBystander && result == NewKeys::kUndisturbed) return {};
  if (!outcome.returned()) return weigh_end(name_of(kind), outcome);
  if (kind == QueryKind::kProbe || kind == QueryKind::kEraseProbe || NewKeys::asks(kind)) {
    // An error in one of the steps is an answer that the caller sees.
    if (says_corrupt(kind, result)) return detected(name_of(kind), POWERCUT_CORRUPT);
  } else {
    const powercut_status status = parse_answer(kind, result).status;
    if (status != POWERCUT_OK && status != POWERCUT_NOT_FOUND && status != POWERCUT_UNSUPPORTED) {
      return detected(name_of(kind), status);
    }
  }
  const auto violation = judge_query(history, traits, query, result);
  if (!violation) return {};
  return {FaultEffect::kSilent, "", *violation};
}

void FaultReport::add_case(const FaultAnswer& worst, bool seen_by_verify) {
  ++tally.cases;
  ++tally.effects[static_cast<size_t>(worst.effect)];
  if (worst.effect == FaultEffect::kDetected || worst.effect == FaultEffect::kCrashed) ++tally.how[worst.how];
  if (worst.effect == FaultEffect::kCrashed || worst.effect == FaultEffect::kSilent) {
    ++tally.invariants[worst.violation.invariant];
  }
  if (worst.effect == FaultEffect::kSilent && seen_by_verify) ++tally.seen_by_verify;
}

void FaultReport::add_example(const FaultFinding& example, FaultEffect effect) {
  if (std::exchange(has_example_[static_cast<size_t>(effect)], true)) return;
  std::string note = absl::StrCat("The first ", name_of(effect), " case: ", example.subject, ", at ", example.operation,
                                  " (operation ", example.operation_index, "). ", example.violation.message);
  while (note.ends_with('.')) note.pop_back();  // whoever prints it ends the sentence
  tally.notes.push_back(std::move(note));
}

void FaultReport::add_finding(FaultFinding finding) {
  // The innermost addresses say where; the rest says how it came there.
  std::string key = absl::StrCat(finding.violation.invariant, "/", finding.query.substr(0, finding.query.find('(')));
  for (size_t i = 0; i < std::min<size_t>(finding.stack.size(), 3); ++i) absl::StrAppend(&key, "/", finding.stack[i]);
  const auto [at, added] = findings_.try_emplace(key, Known{std::move(finding), 0});
  ++at->second.count;
  if (added) order_.push_back(key);
}

std::vector<Json> FaultReport::events(double seconds) {
  FrameResolver frames(loaded_.modules, loaded_.process_modules);
  std::vector<Json> out;
  for (const std::string& key : order_) {
    const auto& [finding, count] = findings_.at(key);
    Json stack = Json::array();
    for (const Frame& frame : frames.resolve(finding.stack)) stack.push_back(Json::array({frame.module, frame.offset}));
    out.push_back({{"event", "fault_finding"},
                   {"fault", name_of(options_.kind)},
                   {"invariant", finding.violation.invariant},
                   {"message", finding.violation.message},
                   {"subject", finding.subject},
                   {"offset", finding.offset ? Json(*finding.offset) : Json(nullptr)},
                   {"operation", finding.operation},
                   {"operation_index", finding.operation_index},
                   {"query", finding.query},
                   {"expected", finding.violation.expected},
                   {"found", finding.violation.found},
                   {"stack", stack},
                   {"count", count}});
  }
  out.insert(out.begin(), modules_event(frames.modules()));
  Json effects = Json::object();
  for (size_t i = 0; i < kEffects.size(); ++i) effects[kEffects[i]] = tally.effects[i];
  Json reason = nullptr;
  if (tally.points != tally.points_of) {
    reason = absl::StrCat("the budget reached ", tally.points, " of ", tally.points_of, " images");
  } else if (!tally.complete()) {
    reason = absl::StrCat("the budget reached ", tally.cases, " of ", tally.cases_of, " cases");
  }
  if (tally.images_left_out > 0) {
    tally.notes.push_back(absl::StrCat(tally.images_left_out, " images are wrong without any fault and were left out"));
  }
  if (tally.answers_left_out > 0) {
    tally.notes.push_back(
        absl::StrCat(tally.answers_left_out, " answers are wrong without any fault and were left out"));
  }
  out.push_back({{"event", "fault_result"},
                 {"fault", name_of(options_.kind)},
                 {"target", loaded_.plan.target.name},
                 {"variant", loaded_.plan.target.variant},
                 {"scenario", loaded_.plan.scenario.name},
                 {"claimed", is_claimed(options_.kind, loaded_.traits)},
                 {"points", tally.points},
                 {"points_of", tally.points_of},
                 {"cases", tally.cases},
                 {"cases_of", tally.cases_of},
                 {"not_read", tally.not_read},
                 {"effects", effects},
                 {"seen_by_verify", tally.seen_by_verify},
                 {"how", tally.how},
                 {"invariants", tally.invariants},
                 {"executions", tally.executions},
                 {"query_runs", tally.query_runs},
                 {"findings", findings_.size()},
                 {"complete", tally.complete()},
                 {"reason", reason},
                 {"notes", tally.notes},
                 {"seconds", seconds}});
  return out;
}

}  // namespace powercut

#include "checker/exploration/trees/tree_result.h"

#include <algorithm>

#include "checker/subjects/program/outputs/finding.h"

namespace powercut {
namespace {

bool is_covered(const ExploredProfile& profile) {
  return profile.covered_points == profile.crash_points && profile.apart == 0;
}

std::string repeated(const TreesExplored& explored, uint64_t repeats) {
  if (explored.unrepeatable) return "recovery is a function of its folder, which it is not";
  return "recovery is a function of its folder: " + std::to_string(repeats) +
         " runs were repeated, at other addresses and on files with other times and inode numbers, and came to the "
         "same";
}

// Why not all trees of a profile were judged.
std::string open_because(const ExploredProfile& profile, const FolderRun& run, const std::string& unknown) {
  if (!unknown.empty()) return unknown;
  if (profile.apart > 0) {
    return "at " + std::to_string(profile.apart) + " of " + std::to_string(profile.crash_points) +
           " crash points so many calls are not durable that their trees take too long to be told apart";
  }
  return run.explored.reason(run.options.budget, run.options.nested > 0 || run.commands.continuation
                                                     ? "the trees of some second cuts take too long to be told apart"
                                                     : "");
}

}  // namespace

Json FolderResult::event() const {
  Json out = result.event();
  out["profiles"] = profiles;
  return out;
}

FolderResult result_of(const FolderRun& run) {
  const TreesExplored& explored = run.explored;
  const bool acknowledges = is_acknowledged(run.calls.metadata());
  const bool all_outputs = explored.unjudged_outputs == 0;
  const std::string printing = run.commands.probes.empty() ? "--dump"
                               : run.commands.dump         ? "--dump and --probe"
                                                           : "--probe";
  const std::string points = std::to_string(explored.profiles.front().crash_points) + " crash points";
  const std::string unjudged =
      "at " + std::to_string(explored.unjudged_outputs) + " of " + points + " the output of " + printing +
      " was not judged: " +
      (acknowledges ? "acknowledgements left the program together, and nobody knows what had been promised between them"
                    : "operations of several threads overlap, or recovery fails where nothing is lost");
  // No verdict is clean on a recording that missed something, nor on commands that depend on more than the folder.
  std::string unknown = !run.calls.missed().empty() ? run.calls.missed().front() : "";
  const std::vector<std::string> unwatched = run.files.troubles();
  if (unknown.empty() && !unwatched.empty()) unknown = unwatched.front();
  if (unknown.empty() && explored.unrepeatable) unknown = explored.troubles.front();
  const bool untrusted = !unknown.empty();

  std::vector<std::string> notes = explored.troubles;
  for (const std::string& sentence : run.calls.missed()) notes.push_back(sentence + ". There is no clean verdict");
  for (const std::string& sentence : unwatched) notes.push_back(sentence + ". There is no verdict");
  notes.insert(notes.end(), run.notes.begin(), run.notes.end());
  if (!explored.nested_complete) notes.emplace_back("recovery itself is not cut: --nested 1 cuts recovery");
  if (run.commands.print() && run.expected.observed() == 0) {
    notes.push_back("the recording has no marked operations, so " + printing + " only had to end with status 0");
  } else {
    if (!all_outputs) notes.push_back(unjudged);
    if (explored.before_operations > 0) {
      notes.push_back("at " + std::to_string(explored.before_operations) + " of " + points + " " + printing +
                      " only had to end with status 0: no operation had begun, so none was acknowledged");
    }
  }
  if (run.runs.left_processes()) {
    notes.emplace_back("recovery ends before processes that it starts: these processes were killed with it");
  }

  FolderResult out;
  bool complete = true, inconsistent = false, known = true;
  files::Count states = 0, covered = 0;
  bool counted = explored.counted && !explored.interrupted;
  std::string reason;
  for (const ExploredProfile& profile : explored.profiles) {
    const bool wrong = profile.wrong_points > 0 || profile.wrong_inside > 0 || !profile.findings.empty();
    const bool all = is_covered(profile) && explored.counted && explored.troubles.empty() && all_outputs && !untrusted;
    const char* verdict = untrusted                   ? "unknown"
                          : wrong                     ? "inconsistent"
                          : explored.troubles.empty() ? "consistent"
                                                      : "unknown";
    const std::string open = all                    ? ""
                             : !is_covered(profile) ? open_because(profile, run, unknown)
                             : !unknown.empty()     ? unknown
                             : all_outputs          ? explored.reason(run.options.budget, "")
                                                    : unjudged;
    const bool all_counted = profile.uncounted == 0 && counted;
    out.profiles.push_back({{"profile", profile.name},
                            {"verdict", verdict},
                            {"complete", all},
                            {"crash_points", profile.crash_points},
                            {"crash_states", all_counted ? Json(profile.states.str()) : Json()},
                            {"covered", profile.covered.str()},
                            {"uncounted", profile.uncounted},
                            {"findings", profile.findings.size()},
                            {"keys", profile.findings},
                            {"reason", all ? Json() : Json(open)}});
    complete = complete && all;
    inconsistent = inconsistent || std::string_view(verdict) == "inconsistent";
    known = known && std::string_view(verdict) != "unknown";
    counted = counted && profile.uncounted == 0;
    states += profile.states;
    covered += profile.covered;
    if (reason.empty()) reason = open;
  }
  const ExploredProfile& first = explored.profiles.front();
  ExplorationResult& result = out.result;
  result.verdict = untrusted ? "unknown" : inconsistent ? "inconsistent" : known ? "consistent" : "unknown";
  result.withdrawn = untrusted && !explored.findings.empty();
  result.functional = explored.functional;
  result.events = run.calls.events();
  result.crash_points = first.crash_points;
  result.crash_states = states.str();
  result.executions = run.runs.runs();
  result.leaves = explored.outcomes;
  result.seconds = run.seconds;
  result.notes = std::move(notes);
  result.assumptions = {"each profile says what a power cut may leave on its file system (docs/file-systems.md)",
                        repeated(explored, run.runs.repeats())};
  if (const uint64_t sector = run.options.units.sector; sector != files::Units{}.sector) {
    result.assumptions.push_back("the disk writes each block of " + std::to_string(sector) +
                                 " bytes as a whole or not at all (--sector-size)");
  }
  if (run.options.budget.seconds > 0) {
    result.assumptions.emplace_back("a budget in seconds: another run may get further");
  }
  result.counts = {{"traced", run.runs.runs()}, {"repeats", run.runs.repeats()}, {"behaviours", run.runs.runs()}};
  const bool acknowledged = run.commands.print() && run.expected.observed() > 0 &&
                            explored.unjudged_outputs + explored.before_operations < first.crash_points;
  Json operations;
  if (!explored.operations.empty()) {
    const auto complete_ones =
        std::ranges::count_if(explored.operations, [](const auto& operation) { return operation.second == 0; });
    operations = {{"all", explored.operations.size()}, {"complete", complete_ones}};
  }
  result.coverage = {.complete = complete,
                     .covered = covered.str(),
                     .nested_complete = explored.nested_complete ? Json(*explored.nested_complete) : Json(0),
                     .acknowledged = acknowledged,
                     .schedules = nullptr,
                     .operations = operations,
                     .reason = reason};
  if (explored.lives) result.coverage.lives = {{"begun", explored.lives->first}, {"new", explored.lives->second}};
  if (counted) result.coverage.total = states.str();
  return out;
}

}  // namespace powercut

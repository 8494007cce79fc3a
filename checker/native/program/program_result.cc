#include "checker/native/program/program_result.h"

namespace powercut {
namespace {

std::string reason_of(const ProgramRun& run) {
  const ProgramExplored& explored = run.explored;
  if (explored.interrupted) return "interrupted";
  if (explored.out_of_time) {
    return "the budget of " + std::to_string(static_cast<uint64_t>(run.options.budget_seconds)) + " s was used up";
  }
  if (explored.out_of_executions) {
    return "the budget of " + std::to_string(run.options.budget_executions) + " executions was used up";
  }
  if (!explored.troubles.empty()) return explored.troubles.front();
  if (explored.sampled_points > 0) {
    return std::to_string(explored.sampled_points) + " crash point(s) have more than " +
           std::to_string(run.options.images) + " images (--images)";
  }
  return "some line has more candidates than are explored";
}

std::vector<std::string> assumptions(const ProgramRun& run) {
  const ProgramOptions& options = run.options;
  std::vector<std::string> out = {
      "persistency model " + options.model,
      options.atoms == "any" ? "aligned 8-byte pieces of a store persist whole, in any order"
      : options.atoms == "ascending"
          ? "aligned 8-byte pieces of a store persist whole, from low to high addresses (assumes ascending)"
          : "bytes of mem* calls persist in any order; 8-byte pieces of other stores whole, in any order",
      "visibility is sequentially consistent",
      "recovery is a function of its pool files: two runs on the same bytes come to the same"};
  if (options.budget_seconds > 0) out.push_back("a budget in seconds: another run may get further");
  return out;
}

}  // namespace

Json program_result(const ProgramRun& run) {
  const ProgramExplored& explored = run.explored;
  const bool complete =
      !explored.interrupted && !explored.truncated && explored.troubles.empty() && explored.covered == explored.states;
  std::vector<std::string> notes = explored.troubles;
  notes.insert(notes.end(), run.notes.begin(), run.notes.end());
  notes.push_back("recovery itself is not cut: program mode looks at crashes of the recorded program alone");
  if (run.commands.dump && run.expected.observed() == 0) {
    notes.push_back("the trace has no marked operations, so --dump only had to end with status 0");
  } else if (explored.unjudged_outputs > 0) {
    notes.push_back("at " + std::to_string(explored.unjudged_outputs) + " of " + std::to_string(explored.crash_points) +
                    " crash points the output of --dump was not judged: before the first operation, or where "
                    "operations of several threads overlap");
  }
  if (!explored.untraced_because.empty()) {
    notes.push_back("images were not pruned by what recovery reads: " + explored.untraced_because);
  }
  if (explored.left_processes) {
    notes.push_back("recovery ends before processes that it starts: they were killed with it");
  }
  return {{"event", "result"},
          {"verdict", explored.unrepeatable        ? "unknown"
                      : !explored.findings.empty() ? "inconsistent"
                      : !explored.troubles.empty() ? "unknown"
                                                   : "consistent"},
          {"events", run.events},
          {"crash_points", explored.crash_points},
          {"crash_states", explored.states.str()},
          {"executions", explored.executions},
          {"queries", 0},
          {"loads", 0},
          {"leaves", explored.outcomes},
          {"traced", explored.traced},
          {"behaviours", explored.behaviours},
          {"seconds", run.seconds},
          {"coverage",
           {{"kind", complete ? "complete" : "sampled"},
            {"covered", explored.covered.str()},
            {"total", explored.interrupted ? Json(nullptr) : Json(explored.states.str())},
            {"nested_complete", 0},
            {"reason", complete ? Json(nullptr) : Json(reason_of(run))}}},
          {"assumptions", assumptions(run)},
          {"not_checked",
           {{"lines_never_read", nullptr},
            {"flush_sites_never_reached", nullptr},
            {"uninstrumented_calls", Json::array()},
            {"atoms", run.options.atoms},
            {"notes", notes}}}};
}

}  // namespace powercut

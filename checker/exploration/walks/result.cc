#include "checker/exploration/walks/result.h"

#include "base/user_file.h"
#include "checker/exploration/walks/other_files.h"
#include "replayer/media/medium.h"

namespace powercut {

namespace {

// Returns advice about changes that the recording has no stores for.
std::string what_to_do(const TracePools& pools) {
  const bool compiled = pools.program.is_object() && pools.program.value("tracer", Json()) == "llvm";
  return compiled ? "Build what stored there with 'powercut cc', or record with --tracer valgrind"
                  : "Let nothing but the recorded process store to the pool while it is recorded";
}

// Whether the program's output has acknowledged its operations.
bool is_acknowledged(const TracePools& pools) {
  return pools.program.is_object() && !pools.program.value("ack", std::string()).empty();
}

// Returns the options whose commands print output that is compared.
std::string printing_options(const ProgramCommands& commands) {
  if (commands.probes.empty()) return "--dump";
  return commands.dump ? "--dump and --probe" : "--probe";
}

// Returns how far the runs checked that recovery depends on nothing but its pools.
std::string repeated(const ProgramExplored& explored) {
  const std::string is = "recovery is a function of its pool files: ";
  if (explored.unrepeatable) return "recovery is a function of its pool files, which it is not";
  if (explored.repeats == 0) return is + "no run of it was repeated";
  // The number of repetitions depends on the time that they took. The sentence names a round number instead, where it
  // can.
  uint64_t told = explored.repeats;
  for (const uint64_t least : {300, 1000, 3000, 10000, 30000, 100000}) {
    if (explored.repeats >= least) told = least;
  }
  const std::string clock =
      !explored.asks_clock ? ""
      : explored.clock_seconds > 0
          ? ". It asks for the time, or may do so: some were repeated in other seconds of the clock, and no further "
            "apart"
          : ". It asks for the time, or may do so, and was not run again in another second of the clock";
  // The rule of three: with n repetitions that agree, more than 3/n would have shown in 95 of 100 cases.
  const uint64_t hundredths = (30000 + told - 1) / told;
  std::string bound = std::to_string(hundredths / 100);
  if (hundredths % 100 != 0) bound += (hundredths % 100 < 10 ? ".0" : ".") + std::to_string(hundredths % 100);
  return is + std::to_string(told) + (told >= 300 ? " runs or more" : " runs") +
         " were repeated, half of them at other addresses and on files with other times and inode numbers, and came to "
         "the same; one that differs in " +
         bound + " % of its runs would have shown, with a certainty of 95 %" + clock;
}

// Precondition: something is not known.
std::string why_unknown(const ProgramRun& run, const std::string& met) {
  if (!run.pools.refused.empty()) return run.pools.refused.front();
  if (!run.pools.unseen.empty()) return run.pools.unseen.front();
  return met.empty() ? run.files.troubles().front() : met;
}

}  // namespace

ExplorationResult result_of(const ProgramRun& run) {
  const ProgramExplored& explored = run.explored;
  // If the trace lacks stores, some findings may be artefacts, and others may be missing.
  const std::string met = other_files_met(run.files.met());
  const std::vector<std::string> unwatched = run.files.troubles();
  const bool depends = !met.empty() || !unwatched.empty();
  const bool unseen = run.pools.lacks_something() || depends;
  const bool untrusted = unseen || explored.unrepeatable || explored.came_apart;
  const bool withdrawn = untrusted && !explored.findings.empty();
  Json searched = explored.searched.empty() ? Json(nullptr) : parse_json(explored.searched);
  const bool all_schedules =
      !searched.is_object() || (searched["complete"] == true && searched["model"] == run.options.model);
  const bool all_images = !explored.functional && !explored.interrupted && explored.counted && !explored.truncated &&
                          explored.troubles.empty() && !unseen && explored.covered == explored.states;
  // No schedule could be followed.
  const bool nothing = searched.is_object() && !all_schedules && explored.crash_points == 0;
  const std::string printing = printing_options(run.commands);
  const bool all_outputs = explored.unjudged_outputs == 0;
  const std::string unjudged =
      "at " + std::to_string(explored.unjudged_outputs) + " of " + std::to_string(explored.crash_points) +
      " crash points the output of " + printing + " was not judged: " +
      (is_acknowledged(run.pools)
           ? "acknowledgements left the program together, and nobody knows what had been promised between them"
       : explored.overlapped
           ? "operations of several threads overlap, and not all of their orders were run one after the other"
           : "recovery fails where the operations have ended and nothing is lost");
  const bool complete = all_images && all_schedules && all_outputs;
  const std::string sampled =
      explored.hung
          ? std::to_string(explored.timeouts) + " runs did not end within --timeout; the rest was not waited for"
      : explored.sampled_points == 0 ? ""
                                     : std::to_string(explored.sampled_points) + " crash point(s) have more than " +
                                           std::to_string(run.options.images) + " images (--images)";
  std::vector<std::string> notes = explored.troubles;
  for (const std::string& sentence : run.pools.unseen) {
    notes.push_back(sentence + ". The images lack it, so there is no verdict. " + what_to_do(run.pools));
  }
  for (const std::string& sentence : run.pools.refused) notes.push_back(sentence + ". There is no verdict");
  if (!met.empty()) notes.push_back(note_of_met(run.pools, run.files.met()));
  for (const std::string& sentence : unwatched) notes.push_back(sentence + ". There is no verdict");
  if (withdrawn) {
    notes.push_back(std::to_string(explored.findings.size()) +
                    " finding(s) were withdrawn: for the reason above, they may be artefacts");
  }
  notes.insert(notes.end(), run.notes.begin(), run.notes.end());
  if (auto unmet = note_of_unmet(run.pools, run.files.met(), run.files.added()); !unmet.empty()) {
    notes.push_back(std::move(unmet));
  }
  if (!run.commands.cut) notes.push_back("recovery itself is not cut: --nested 1 cuts recovery");
  if (run.commands.print() && !run.observed) {
    notes.push_back("the budget ended while " + printing +
                    " was run on the pool as it was after each operation, so no output was judged");
  } else if (run.commands.print() && run.expected.observed() == 0) {
    notes.push_back(explored.operations || !all_outputs
                        ? "recovery fails where each operation has ended and nothing is lost, so what " + printing +
                              " printed was not judged"
                        : "the trace has no marked operations, so " + printing + " only had to end with status 0");
  } else {
    if (!all_outputs) notes.push_back(unjudged);
    if (explored.before_operations > 0) {
      notes.push_back("at " + std::to_string(explored.before_operations) + " of " +
                      std::to_string(explored.crash_points) + " crash points " + printing +
                      " only had to end with status 0: no operation had begun, so none was acknowledged");
    }
  }
  if (explored.reordered > 0) {
    notes.push_back("on " + std::to_string(explored.reordered) + " images " + printing +
                    " printed the right lines in another order, which counts as right: say --ordered "
                    "if the order has a meaning");
  }
  if (run.commands.dump && run.commands.probes.empty()) {
    notes.push_back("a dump that only reads misses faults that only a write meets: --probe writes to each image");
  }
  if (!explored.untraced_because.empty()) {
    notes.push_back("images were not pruned by what recovery reads: " + explored.untraced_because);
  }
  if (explored.left_processes) {
    notes.push_back("recovery ends before processes that it starts: these processes were killed with it");
  }
  std::vector<std::string> assumed =
      assumptions(run.options.model, run.options.atoms, repeated(explored), false, run.options.budget_seconds);
  if (const auto of_files = run.pools.medium().of_files; !of_files.empty()) assumed.emplace_back(of_files);
  if (run.pools.program.is_object() && run.pools.program.contains("assumes")) {
    assumed.push_back(run.pools.program["assumes"].get<std::string>());
  }
  if (const auto added = run.files.added(); !added.empty()) {
    assumed.push_back("the recorded program and recovery both add to these files, and their length changes nothing: " +
                      some_of(added));
  }
  if (!explored.searched.empty()) {
    assumed.push_back(
        "threads meet where the compiler pass saw them use the same memory; code that 'powercut cc' did not build runs "
        "without a switch; a plain access of a function to its own local variables is not seen");
  }
  // No other order of the threads was looked at.
  const Json recorded = {{"search", "recorded"},
                         {"model", run.options.model},
                         {"threads", run.threads},
                         {"operations", 0},
                         {"schedules", 1},
                         {"states", 0},
                         {"steps", 0},
                         {"complete", false}};
  const bool acknowledged =
      run.commands.print() && run.expected.observed() > 0 &&
      (explored.crash_points == 0 || explored.unjudged_outputs + explored.before_operations < explored.crash_points);
  std::string unsearched;
  if (searched.is_object()) {
    searched["judged"] = explored.crash_points;
    unsearched = searched["model"] == run.options.model
                     ? searched["reason"].get<std::string>()
                     : "they were recorded with --model " + searched["model"].get<std::string>();
    searched["complete"] = all_schedules;
  }
  Json operations;
  if (const auto& marked = explored.operations) {
    operations = {{"all", marked->first}, {"complete", marked->first - marked->second}};
  }
  const bool known = !untrusted && (!explored.findings.empty() || (explored.troubles.empty() && !nothing));
  ExplorationResult out = {.verdict = !known                       ? "unknown"
                                      : !explored.findings.empty() ? "inconsistent"
                                                                   : "consistent",
                           .withdrawn = withdrawn,
                           .functional = explored.functional,
                           .events = run.events,
                           .crash_points = explored.crash_points,
                           .crash_states = explored.states.str(),
                           .executions = explored.executions,
                           .leaves = explored.outcomes,
                           .seconds = run.seconds,
                           .assumptions = std::move(assumed),
                           .atoms = persistency_of(run.options.model)->own_policy() ? "" : run.options.atoms,
                           .notes = std::move(notes)};
  out.counts = {{"traced", explored.traced}, {"repeats", explored.repeats}, {"behaviours", explored.behaviours}};
  out.coverage = {.complete = complete,
                  .covered = explored.covered.str(),
                  .nested_complete = explored.nested_complete ? Json(*explored.nested_complete) : Json(0),
                  .acknowledged = acknowledged,
                  .schedules = searched.is_object() ? searched
                               : run.threads < 2    ? Json(nullptr)
                                                    : recorded,
                  .operations = operations};
  if (!explored.interrupted && explored.counted) out.coverage.total = explored.states.str();
  const Budget budget = {run.options.budget_seconds, run.options.budget_executions};
  out.coverage.reason = complete         ? ""
                        : unseen         ? why_unknown(run, met)
                        : !all_images    ? explored.reason(budget, sampled)
                        : !all_schedules ? "not all schedules: " + unsearched
                                         : unjudged;
  return out;
}

}  // namespace powercut

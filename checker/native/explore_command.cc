// `powercut-engine explore`: every legal crash state of a recorded run, and the verdict.
#include <chrono>
#include <fstream>

#include "checker/native/commands.h"
#include "checker/native/no_aslr.h"
#include "checker/native/survey.h"
#include "checker/native/workers.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

std::optional<EngineError> check(const ExploreOptions& options) {
  const auto unknown = [](const std::string& what, const std::string& given, const std::string& choices) {
    return usage_error("unknown " + what + " '" + given + "'", "explore", "Use one of: " + choices + ".");
  };
  if (!make_strategy(options.strategy, {})) {
    return unknown("strategy", options.strategy, "read-driven, exhaustive, prefix, random");
  }
  if (!make_model(options.model, AtomPolicy::kAny, kLineSize)) return unknown("model", options.model, "adr, eadr");
  if (!atom_policy(options.atoms)) return unknown("atom policy", options.atoms, "any, ascending, byte");
  if (!options.dump_results.empty() && !std::ofstream(options.dump_results, std::ios::app)) {
    return usage_error("cannot be written", options.dump_results, "Choose a folder that exists and may be written to.");
  }
  return std::nullopt;
}

std::string reason_of(const MergedCounts& merged, const ExploreOptions& options) {
  if (merged.interrupted) return "interrupted";
  if (merged.out_of_time)
    return "the budget of " + std::to_string(static_cast<uint64_t>(options.budget_seconds)) + " s was used up";
  if (merged.out_of_executions)
    return "the budget of " + std::to_string(options.budget_executions) + " executions was used up";
  if (!merged.troubles.empty()) return merged.troubles.front();
  if (options.strategy == "prefix" || options.strategy == "random") return "strategy " + options.strategy + " samples";
  return "some line has more candidates than are explored";
}

std::vector<std::string> assumptions(const ExploreOptions& options) {
  std::vector<std::string> out = {
      "persistency model " + options.model,
      options.atoms == "any" ? "aligned 8-byte pieces of a store persist whole, in any order"
      : options.atoms == "ascending"
          ? "aligned 8-byte pieces of a store persist whole, from low to high addresses (assumes ascending)"
          : "bytes of mem* calls persist in any order; 8-byte pieces of other stores whole, in any order",
      "visibility is sequentially consistent",
      "the instrumented build is judged: its stores are those of the shipped build"};
  if (options.budget_seconds > 0) out.push_back("a budget in seconds: another run may get further");
  return out;
}

Json result_event(const Session& session, const ExploreOptions& options, const Survey& survey,
                  const MergedCounts& merged, double seconds) {
  const bool complete = merged.sum.complete && merged.sum.crash_points == survey.crash_points;
  uint64_t never_read = 0;
  for (uint64_t line : survey.written_lines) never_read += !merged.read_lines[line];
  Json externals = Json::array();
  const char* names[256];
  const uint32_t count = powercut_externals(names, 256);
  for (uint32_t i = 0; i < std::min(count, 256u); ++i) externals.push_back(names[i]);
  Json notes = Json::array();
  for (const std::string& trouble : merged.troubles) notes.push_back(trouble);
  notes.push_back("a nested crash is cut at recovery's own crash points; deeper cuts than " +
                  std::to_string(options.nested) + " are not tried");
  const char* verdict = !merged.findings.empty() ? "inconsistent" : !merged.troubles.empty() ? "unknown" : "consistent";
  return {{"event", "result"},
          {"verdict", verdict},
          {"events", session.events},
          {"crash_points", survey.crash_points},
          {"crash_states", survey.crash_states.str()},
          {"executions", merged.sum.executions},
          {"queries", merged.sum.query_answers},
          {"query_runs", merged.sum.query_runs},
          {"loads", merged.sum.loads},
          {"leaves", merged.leaves},
          {"seconds", seconds},
          {"exploring_seconds", merged.sum.exploring_seconds},
          {"coverage",
           {{"kind", complete ? "complete" : "sampled"},
            {"covered", complete ? survey.crash_states.str() : merged.sum.covered.str()},
            {"total", survey.crash_states.str()},
            {"nested_complete", complete ? options.nested : 0},
            {"reason", complete ? Json(nullptr) : Json(reason_of(merged, options))}}},
          {"assumptions", assumptions(options)},
          {"not_checked",
           {{"lines_never_read", never_read},
            {"flush_sites_never_reached", nullptr},
            {"uninstrumented_calls", externals},
            {"atoms", options.atoms},
            {"notes", notes}}}};
}

int explore(const ExploreOptions& options, EventStream& events) {
  if (auto wrong = check(options)) return events.error(*wrong);
  auto opened = open_session(options.trace);
  if (!opened) return events.error(opened.error());
  const Session& session = **opened;
  events.hello("explore");
  events.emit(modules_event(session.modules));

  const auto start = Clock::now();
  const auto seconds = [&start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  auto surveyed = survey(session, options);
  if (!surveyed) return events.error(surveyed.error());
  events.emit({{"event", "run"},
               {"target", session.plan.target.name},
               {"variant", session.plan.target.variant},
               {"scenario", session.plan.scenario.name},
               {"model", options.model},
               {"strategy", options.strategy},
               {"seed", options.seed},
               {"nested", options.nested},
               {"jobs", options.jobs},
               {"atoms", options.atoms},
               {"events", session.events},
               {"crash_points", surveyed->crash_points},
               {"plan", session.plan.json}});
  const MergedCounts merged = explore_all(
      session, options, surveyed->crash_points, [&events](const Json& finding) { events.emit(finding); },
      [&](const MergedCounts& so_far) {
        events.emit({{"event", "progress"},
                     {"crash_points", so_far.sum.crash_points},
                     {"of", surveyed->crash_points},
                     {"crash_states", so_far.sum.covered.str()},
                     {"executions", so_far.sum.executions},
                     {"findings", so_far.findings.size()},
                     {"seconds", seconds()}});
      });
  auto reader = open_trace(options.trace);
  if (!reader) return events.error(reader.error());
  Event event;
  while ((*reader)->next(&event)) {
  }
  for (const HygieneRow& row : surveyed->hygiene) {
    Json stack = Json::array();
    for (const Frame& frame : (*reader)->stack(row.stack)) stack.push_back(Json::array({frame.module, frame.offset}));
    const std::string message = row.kind == "never-persisted" ? "no store of this site was certainly durable at the end"
                                : row.kind == "redundant-flush" ? "this flush had nothing to make durable"
                                                                : "this fence had nothing to wait for";
    events.emit({{"event", "hygiene"},
                 {"kind", row.kind},
                 {"count", row.count},
                 {"stack", stack},
                 {"offset", row.offset},
                 {"first_event", row.event},
                 {"message", message}});
  }
  const Json result = result_event(session, options, *surveyed, merged, seconds());
  events.emit(result);
  const bool complete = result["coverage"]["kind"] == "complete";
  return events.end(!merged.findings.empty()              ? kExitFindings
                    : complete && merged.troubles.empty() ? kExitOk
                                                          : kExitUnknown);
}

}  // namespace

void add_explore_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("explore", "Explore the crash states of a recorded trace");
  auto options = std::make_shared<ExploreOptions>();
  command->add_option("--trace", options->trace, "Trace file")->required();
  command->add_option("--strategy", options->strategy, "read-driven, exhaustive, prefix or random");
  command->add_option("--model", options->model, "adr or eadr");
  command->add_option("--atoms", options->atoms, "How a wide store may be torn: any, ascending or byte");
  command->add_option("--nested", options->nested, "Cuts inside recovery")->check(CLI::Range(0, 8));
  command->add_option("--jobs", options->jobs, "Worker processes")->check(CLI::Range(1, 1024));
  command->add_option("--seed", options->seed, "Seed of strategy random");
  command->add_option("--samples", options->samples, "Images a crash point, for strategy random");
  command->add_option("--budget-seconds", options->budget_seconds, "Stop after this time");
  command->add_option("--budget-executions", options->budget_executions, "Stop after this many runs of recovery");
  command->add_option("--step-budget", options->step_budget, "Loop turns and calls that one execution may take");
  command->add_option("--watchdog-seconds", options->watchdog_seconds, "Wall-clock limit of one crash point");
  command->add_flag("--paranoid", options->paranoid, "Hash pool, heap and globals after each reset");
  command->add_flag("!--no-remember", options->remember, "Run every query at every leaf");
  command->add_option("--dump-results", options->dump_results, "Write every (crash point, query, result) to this file");
  command->callback([options, &exit_code] {
    fix_addresses();
    if (!options->dump_results.empty()) options->jobs = 1;
    EventStream events = EventStream::standard_output();
    exit_code = explore(*options, events);
  });
}

}  // namespace powercut

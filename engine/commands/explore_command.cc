// `powercut-engine explore`: every legal crash state of a recorded run, and the verdict.
#include <chrono>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/repeatable_process.h"
#include "checker/exploration/chunks/chunk_list.h"
#include "checker/exploration/chunks/result.h"
#include "checker/exploration/performance_events.h"
#include "checker/findings/finding.h"
#include "engine/commands.h"
#include "engine/plan_recording.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

// The way in which the exploration is shared out, beside its options.
struct Sharing {
  bool list = false;   // say which chunks there are, and explore none
  std::string chunks;  // "FIRST:END", or empty
};

std::string strategies() {
  std::string names;
  for (std::string_view name : strategy_names()) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

std::optional<EngineError> check(const ExploreOptions& options) {
  if (!make_strategy(options.strategy, {})) {
    return usage_error("unknown strategy '" + options.strategy + "'", "explore",
                       absl::StrCat("Use one of: ", strategies(), "."));
  }
  if (auto wrong = check_model(options.model, options.atoms, "explore")) return wrong;
  if (!options.dump_results.empty() && !std::ofstream(options.dump_results, std::ios::trunc)) {
    return usage_error("cannot be written", options.dump_results, "Choose a folder that exists and may be written to.");
  }
  if (options.resume && options.checkpoint.empty()) {
    return usage_error("there is no checkpoint to resume from", "--resume", "Name it with --checkpoint FILE.");
  }
  if (!options.dump_results.empty() && !options.checkpoint.empty()) {
    return usage_error("a checkpoint does not hold single results", "--dump-results", "Leave out --checkpoint.");
  }
  if (options.chunks && options.checkpoint.empty()) {
    return usage_error("there is nowhere to put the finished chunks", "--chunks",
                       "Name a file with --checkpoint FILE.");
  }
  if (options.chunks && (!options.dump_violations.empty() || options.budget_seconds > 0)) {
    return usage_error("some chunks alone can neither be dumped nor have a budget in seconds", "--chunks",
                       "Leave out --dump-violations and --budget-seconds.");
  }
  return std::nullopt;
}

int list(const ExploreOptions& options, EventStream& events) {
  if (auto wrong = check(options)) return events.error(*wrong);
  auto loaded = load_trace(options.trace);
  if (!loaded) return events.error(loaded.error());
  auto listed = list_chunks(**loaded, options);
  if (!listed) return events.error(listed.error());
  events.hello("explore");
  Json firsts = Json::array();
  for (const Chunk& chunk : listed->chunks) firsts.push_back(chunk.first);
  events.emit({{"event", "chunks"},
               {"library", (*loaded)->plan.target.library},
               {"identity", identity_of(**loaded, options)},
               {"firsts", firsts},
               {"crash_points", listed->crash_points},
               {"events", (*loaded)->events}});
  return events.end(kExitOk);
}

// Chunks that an earlier run and other machines have finished; null where nothing is kept or taken.
Result<std::unique_ptr<Checkpoint>> open_checkpoint(const ExploreOptions& options, const Json& identity) {
  std::unique_ptr<Checkpoint> out;
  if (!options.checkpoint.empty()) {
    auto file = Checkpoint::open(options.checkpoint, identity, options.resume);
    if (!file) return file.error();
    out = std::move(*file);
  } else if (!options.take.empty()) {
    out = Checkpoint::in_memory();
  }
  for (const std::string& path : options.take) {
    if (auto wrong = out->take(path, identity)) return *wrong;
  }
  return out;
}

// `recording`: what is recorded first, unless its plan is empty.
int explore(const ExploreOptions& asked, const RecordOptions& recording, EventStream& events) {
  ExploreOptions options = asked;
  if (auto wrong = check(options)) return events.error(*wrong);
  if (!recording.plan.empty()) {
    events.hello("explore");
    if (const std::optional<int> failed = record_plan(recording, events)) return *failed;
  }
  const auto start = Clock::now();
  const auto seconds = [&start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  auto opened = load_trace(options.trace);
  if (!opened) return events.error(opened.error());
  const LoadedTrace& loaded = **opened;
  options.model = loaded.model_for(asked.model);
  if (auto wrong = check_search(loaded, options.model, options.atoms)) return events.error(*wrong);
  std::unique_ptr<Checkpoint> checkpoint;
  if (!options.checkpoint.empty() || !options.take.empty()) {
    auto file = open_checkpoint(options, identity_of(loaded, options));
    if (!file) return events.error(file.error());
    checkpoint = std::move(*file);
  }
  auto reader = open_trace(options.trace);
  if (!reader) return events.error(reader.error());
  if (recording.plan.empty()) events.hello("explore");
  events.emit(modules_event(loaded.modules));
  events.emit({{"event", "run"},
               {"target", loaded.plan.target.name},
               {"variant", loaded.plan.target.variant},
               {"scenario", loaded.plan.scenario.name},
               {"model", options.model},
               {"strategy", options.strategy},
               {"seed", options.seed},
               {"nested", options.nested},
               {"jobs", options.jobs},
               {"atoms", options.atoms},
               {"events", loaded.events},
               {"plan", loaded.plan.json}});

  const uint64_t pool_size = loaded.plan.scenario.pool_size;
  map_pool(pool_size);
  TraceFollower follower(loaded, options.model, options.policy(), std::move(*reader), pool_bytes());
  const double opening = seconds();
  const ExploreListener listener = {.found = [&events](const Json& finding) { events.emit(finding); },
                                    .progressed =
                                        [&](const SoFar& so_far) {
                                          events.emit({{"event", "progress"},
                                                       {"crash_points", so_far.crash_points},
                                                       {"of", so_far.of},
                                                       {"crash_states", so_far.covered.str()},
                                                       {"executions", so_far.executions},
                                                       {"findings", so_far.findings},
                                                       {"seconds", seconds()}});
                                        },
                                    .finished =
                                        [&](const ChunkResult& chunk) {
                                          if (!options.chunks) return;
                                          events.emit({{"event", "chunk"},
                                                       {"number", chunk.number},
                                                       {"crash_points", chunk.counts.crash_points},
                                                       {"executions", chunk.counts.executions},
                                                       {"kept", !chunk.stopped}});
                                        }};
  auto explored = explore_all(loaded, options, &follower, checkpoint.get(), listener);
  if (!explored) return events.error(explored.error());
  explored->seconds["open"] = opening;
  if (options.chunks) {
    events.emit({{"event", "explored"},
                 {"all", explored->has_range},
                 {"troubles", explored->troubles},
                 {"seconds", seconds()},
                 {"stats", {{"run", explored->seconds}, {"workers", explored->sum.seconds}}}});
    return events.end(explored->has_range ? kExitOk : kExitUnknown);
  }
  const Survey& survey = explored->survey;
  for (const Json& event : performance_events(survey.performance_bugs, survey.persisting, follower.reader())) {
    events.emit(event);
  }
  for (const auto& [site, count] : explored->recovery_sites) {
    Json event = {{"event", "recovery_site"}};
    event.update(Json::parse(site));
    event["count"] = count;
    events.emit(event);
  }
  const ExplorationResult result = result_of(loaded, options, *explored, seconds());
  events.emit(result.event());
  return events.end(result.exit_code());
}

}  // namespace

void add_explore_command(CommandLine& app, int& exit_code) {
  CommandLine* command = app.add_subcommand("explore", "Explore the crash states of a recorded trace");
  auto options = std::make_shared<ExploreOptions>();
  auto sharing = std::make_shared<Sharing>();
  auto recording = std::make_shared<RecordOptions>();
  command->add_option("--trace", options->trace, "Trace file")->required();
  auto* plan = command->add_option("--plan", recording->plan, "Record this plan into the trace file before");
  command->add_option("--operation-timeout", recording->operation_timeout, "With --plan, as of 'record'")->positive();
  command->add_option("--strategy", options->strategy, strategies());
  add_model_options(command, &options->model, &options->atoms);
  command->add_option("--nested", options->nested, "Cuts inside recovery")->range(0, 8);
  command->add_option("--lives", options->lives, "2: the program works on behind recovery, and the power fails again")
      ->range(1, 2);
  command->add_flag("!--no-merge-lives", options->merge_lives, "Explore every second life, also one equal to another");
  command->add_option("--jobs", options->jobs, "Worker processes")->range(1, 1024);
  command->add_option("--seed", options->seed, "Seed of strategy random");
  command->add_option("--samples", options->samples, "Images a crash point, for strategy random");
  command->add_option("--budget-seconds", options->budget_seconds, "Stop after this time");
  command->add_option("--budget-executions", options->budget_executions, "Stop after this many runs of recovery");
  command->add_option("--step-budget", options->step_budget,
                      "Loop turns and calls after which an execution is given up");
  command->add_option("--watchdog-seconds", options->watchdog_seconds, "Wall-clock limit of one execution")->positive();
  command->add_option("--crash-point-seconds", options->crash_point_seconds, "Wall-clock limit of one crash point");
  command->add_flag("--stop-at-functional", options->stop_at_functional,
                    "End at the first finding that needs no power cut");
  command->add_flag("--paranoid", options->paranoid, "Hash pool, heap and globals after each reset");
  command->add_flag("--list-recovery-sites", options->list_recovery_sites,
                    "Tell of every flush and fence that recovery executed");
  command->add_flag("!--no-remember", options->remember, "Run every query at every leaf");
  auto* after =
      command->add_option("--merge-after", options->merge_after, "Executions of one query before its ways are merged");
  command
      ->add_flag_callback(
          "--no-merge", [options] { options->merge_after = QuerySearch::kNever; },
          "Execute a query once for each of its ways")
      ->excludes(after);
  command->add_option("--dump-results", options->dump_results, "Write every (crash point, query, result) to this file");
  command->add_option("--checkpoint", options->checkpoint, "Keep every finished chunk in this file");
  command->add_option("--chunk-events", options->chunk_events,
                      "Events that a worker is given at a time; 0: by the trace");
  command->add_flag("--resume", options->resume, "Go on from what the checkpoint holds");
  command->add_option("--take", options->take, "Also take over the chunks of this checkpoint; may be given again")
      ->allow_extra_args(false);
  command->add_option("--chunks", sharing->chunks, "Explore these chunks alone, FIRST:END, into the checkpoint");
  command->add_flag("--list-chunks", sharing->list, "Say which chunks there are, and explore none")->excludes(plan);
  command->add_option("--dump-violations", options->dump_violations,
                      "Append every distinct (query, obligation, result) that is wrong to this file");
  command->callback([options, sharing, recording, &exit_code] {
    make_repeatable();
    if (!options->dump_results.empty() || !options->dump_violations.empty()) options->jobs = 1;
    EventStream events = EventStream::standard_output();
    if (!sharing->chunks.empty() && !(options->chunks = parse_chunks(sharing->chunks))) {
      exit_code = events.error(usage_error("'" + sharing->chunks + "' is no range of chunks", "--chunks",
                                           "Write FIRST:END, such as 0:4 for the first four."));
      return;
    }
    if (options->chunks) options->stop_at_functional = false;  // the one who merges them stops
    recording->trace = options->trace;
    exit_code = sharing->list ? list(*options, events) : explore(*options, *recording, events);
  });
}

}  // namespace powercut

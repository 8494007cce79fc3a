// `powercut-engine program`: every legal crash state of a recorded program, given to its recovery command as files.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "checker/native/commands.h"
#include "checker/native/finding.h"
#include "checker/native/program/explorer.h"
#include "checker/native/program/program_result.h"
#include "checker/native/repeatable_process.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

struct OpenedTrace {
  TracePools pools;
  std::vector<TraceModule> modules;
  uint64_t events = 0;
  bool explored_at_start = true;
};

// One pass over the whole trace: module definitions stand anywhere before their first use.
Result<OpenedTrace> open_program_trace(const ProgramOptions& options) {
  auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  auto pools = pools_of_trace((*reader)->metadata(), options.trace, options.pool_path);
  if (!pools) return pools.error();
  OpenedTrace out;
  out.pools = std::move(*pools);
  out.events = (*reader)->total_events();
  Event event;
  while ((*reader)->next(&event)) {
    // With phases, what comes before the first one that is explored only prepares.
    if (event.kind == EventKind::kPhase) out.explored_at_start = false;
    const bool store = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
    if (store && (event.addr > out.pools.space || event.value.size() > out.pools.space - event.addr)) {
      return usage_error("event " + std::to_string(event.index) + " stores outside of the recorded pools",
                         options.trace, "Record it again with 'powercut record'.");
    }
  }
  if ((*reader)->error()) return usage_error(*(*reader)->error());
  out.modules = (*reader)->modules();
  return out;
}

std::optional<EngineError> check(const ProgramOptions& options) {
  const auto unknown = [](const std::string& what, const std::string& given, const std::string& choices) {
    return usage_error("unknown " + what + " '" + given + "'", "program", "Use one of: " + choices + ".");
  };
  if (!make_model(options.model, AtomPolicy::kAny, kLineSize)) return unknown("model", options.model, "adr, eadr");
  if (!atom_policy(options.atoms)) return unknown("atom policy", options.atoms, "any, ascending, byte");
  return std::nullopt;
}

Result<ProgramCommands> parse_commands(const ProgramOptions& options, const TracePools& pools) {
  ProgramCommands out;
  out.timeout = options.timeout;
  auto recover = parse_command(options.recover, "--recover", pools);
  if (!recover) return recover.error();
  out.recover = std::move(*recover);
  const auto optional = [&](const std::string& json, const char* option,
                            std::optional<Command>* to) -> std::optional<EngineError> {
    if (json.empty()) return std::nullopt;
    auto command = parse_command(json, option, pools);
    if (!command) return command.error();
    *to = std::move(*command);
    return std::nullopt;
  };
  if (auto wrong = optional(options.check, "--check", &out.check)) return *wrong;
  if (auto wrong = optional(options.dump, "--dump", &out.dump)) return *wrong;
  if (!options.tracer.empty()) {
    auto tracer = parse_trace_prefix(options.tracer, "--trace-prefix");
    if (!tracer) return tracer.error();
    out.tracer = std::move(*tracer);
  }
  return out;
}

std::string default_work() {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

int explore(const ProgramOptions& options, EventStream& events) {
  if (auto wrong = check(options)) return events.error(*wrong);
  const auto start = Clock::now();
  const auto seconds = [&start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  auto trace = open_program_trace(options);
  if (!trace) return events.error(trace.error());
  auto commands = parse_commands(options, trace->pools);
  if (!commands) return events.error(commands.error());

  // Recoveries that crash by the thousand must not leave a core file each.
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  struct sigaction stop{};
  stop.sa_handler = [](int) { interrupted = true; };
  sigaction(SIGINT, &stop, nullptr);
  sigaction(SIGTERM, &stop, nullptr);
  sigaction(SIGHUP, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);
  auto guardian = Guardian::start(options.work.empty() ? default_work() : options.work);
  if (!guardian) return events.error(guardian.error());
  events.end_when_unheard();
  std::vector<std::unique_ptr<Lane>> workers;
  for (int i = 0; i < options.jobs; ++i) {
    auto lane = Lane::create((*guardian)->folder() + "/" + std::to_string(i), trace->pools, *commands, guardian->get(),
                             &interrupted);
    if (!lane) return events.error(lane.error());
    workers.push_back(std::move(*lane));
  }

  events.hello("program");
  events.emit(modules_event(trace->modules));
  events.emit({{"event", "run"},
               {"target", std::filesystem::path(commands->recover.given).filename()},
               {"variant", ""},
               {"scenario", "program"},
               {"model", options.model},
               {"strategy", "program"},
               {"seed", options.seed},
               {"nested", 0},
               {"jobs", options.jobs},
               {"atoms", options.atoms},
               {"events", trace->events}});

  ExpectedOutputs expected;
  uint64_t observed = 0;
  if (commands->dump) {
    auto reader = open_trace(options.trace);
    if (!reader) return events.error(reader.error());
    auto taken = ExpectedOutputs::take(reader->get(), trace->pools.space, [&](const auto& lines) {
      ++observed;
      for (const auto& [line, content] : lines) workers[0]->files().put(line, content);
      return workers[0]->run();
    });
    if (!taken && interrupted) return events.end(kExitUnknown);
    if (!taken) return events.error(taken.error());
    expected = std::move(*taken);
    // The exploration begins with an image of zeros.
    workers[0] = nullptr;
    auto lane = Lane::create((*guardian)->folder() + "/first", trace->pools, *commands, guardian->get(), &interrupted);
    if (!lane) return events.error(lane.error());
    workers[0] = std::move(*lane);
  }

  void* pool =
      mmap(nullptr, trace->pools.space, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pool == MAP_FAILED) {
    return events.error(harness_error("no memory for " + std::to_string(trace->pools.space) + " bytes of pools",
                                      options.trace, "Free some memory."));
  }
  auto reader = open_trace(options.trace);
  if (!reader) return events.error(reader.error());
  TraceFollower follower(trace->pools.space, trace->explored_at_start, options.model, options.policy(),
                         std::move(*reader), static_cast<uint8_t*>(pool));
  Lanes lanes(std::move(workers));
  double told = 0;
  const ProgramListener listener = {.found = [&events](const Json& finding) { events.emit(finding); },
                                    .progressed =
                                        [&](const ProgramExplored& so_far) {
                                          if (seconds() < told + 0.25) return;
                                          told = seconds();
                                          events.emit({{"event", "progress"},
                                                       {"crash_points", so_far.crash_points},
                                                       {"of", so_far.crash_points},
                                                       {"crash_states", so_far.covered.str()},
                                                       {"executions", so_far.executions},
                                                       {"findings", so_far.findings.size()},
                                                       {"seconds", told}});
                                        },
                                    .interrupted = [] { return interrupted.load(); }};
  ProgramExplorer explorer(options, *commands, &follower, static_cast<uint8_t*>(pool), &lanes, &expected, listener);
  ProgramExplored explored = explorer.explore();
  explored.executions += observed;
  const Json result = program_result({.options = options,
                                      .commands = *commands,
                                      .explored = explored,
                                      .expected = expected,
                                      .events = trace->events,
                                      .seconds = seconds(),
                                      .notes = lanes.first().notes()});
  events.emit(result);
  const bool complete = result["coverage"]["kind"] == "complete";
  if (explored.unrepeatable) return events.end(kExitUnknown);
  return events.end(!explored.findings.empty() ? kExitFindings : complete ? kExitOk : kExitUnknown);
}

}  // namespace

void add_program_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("program", "Explore a recorded program's crash states with its own recovery");
  auto options = std::make_shared<ProgramOptions>();
  command->add_option("--trace", options->trace, "Trace file")->required();
  command->add_option("--recover", options->recover, "Recovery command, a JSON list of words; {image} is the pool")
      ->required();
  command->add_option("--check", options->check, "Consistency checker, run on what recovery left");
  command->add_option("--dump", options->dump, "Prints the contents; compared with those after every prefix");
  command->add_option("--timeout", options->timeout, "Seconds that one run of one command may take")
      ->check(CLI::Range(0.001, 86400.0));
  command->add_option("--model", options->model, "adr or eadr");
  command->add_option("--atoms", options->atoms, "How a wide store may be torn: any, ascending or byte");
  command->add_option("--jobs", options->jobs, "Recoveries at a time")->check(CLI::Range(1, 1024));
  command->add_option("--seed", options->seed, "Seed of the images where not all are tried");
  command->add_option("--images", options->images, "Images that are tried at a crash point at most")
      ->check(CLI::Range(uint64_t{2}, uint64_t{1} << 24));
  command->add_option("--budget-seconds", options->budget_seconds, "Stop after this time");
  command->add_option("--budget-executions", options->budget_executions, "Stop after this many runs of recovery");
  command->add_option("--trace-prefix", options->tracer,
                      "JSON: command and environment that run a command under a tracer that records loads");
  command->add_option("--native-box", options->native_box, "With a tracer, sets of so many images are run one by one");
  command->add_option("--pool-path", options->pool_path, "Pool of a trace that does not name it");
  command->add_option("--work", options->work, "Folder for the crash images (default /dev/shm)");
  command->callback([options, &exit_code] {
    make_repeatable();
    EventStream events = EventStream::standard_output();
    exit_code = explore(*options, events);
  });
}

}  // namespace powercut

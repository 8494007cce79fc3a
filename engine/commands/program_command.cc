// `powercut-engine program`: every legal crash state of a recorded program, given to its recovery command as files.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "checker/exploration/walks/explorer.h"
#include "checker/exploration/walks/performance_events.h"
#include "checker/exploration/walks/result.h"
#include "checker/findings/finding.h"
#include "checker/subjects/program/loaded_program.h"
#include "checker/trace/explore_options.h"
#include "engine/commands.h"
#include "tracer/runtime/reads/read_log.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

// Runs end early once `cancelled` is set: by an interruption, or a moment after the end of the budget.
std::atomic<bool> interrupted = false, cancelled = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

// The time that is left of a budget. Seconds after its end runs are ended that are under way.
class BudgetClock {
 public:
  explicit BudgetClock(const ProgramOptions& options) {
    if (options.budget_seconds <= 0) return;
    end_ = begun_ + seconds_of(options.budget_seconds - options.budget_spent);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      woken_.wait_until(lock, stop, *end_ + seconds_of(kPatience), [] { return false; });
      if (!stop.stop_requested()) cancelled = true;
    });
  }
  bool over() const { return end_ && Clock::now() >= *end_; }
  // The rest of an option's share `of` the whole budget from now on; at least a moment.
  double left(double of, double spent) const {
    return std::max(0.001, of - spent - std::chrono::duration<double>(Clock::now() - begun_).count());
  }

 private:
  static constexpr double kPatience = 0.5;
  static Clock::duration seconds_of(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  const Clock::time_point begun_ = Clock::now();
  std::optional<Clock::time_point> end_;
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::jthread thread_;  // the last member: it ends before the others do
};

// How far it is, four times a second at most. A phase is told of when it begins.
class ProgramProgress {
 public:
  ProgramProgress(EventStream* events, std::function<double()> seconds)
      : events_(events), seconds_(std::move(seconds)) {}

  void begin(const char* phase, uint64_t of) {
    phase_ = phase;
    of_ = of;
    told_ = -1;
    tell({});
  }
  void tell(const ProgramExplored& so_far) {
    const double now = seconds_();
    if (now < told_ + 0.25) return;
    told_ = now;
    events_->emit({{"event", "progress"},
                   {"phase", phase_},
                   {"crash_points", so_far.crash_points},
                   {"of", of_},
                   {"crash_states", so_far.covered.str()},
                   {"executions", observed + so_far.executions},
                   {"repeats", so_far.repeats},
                   {"findings", so_far.findings.size()},
                   {"seconds", now}});
  }

  uint64_t observed = 0;  // runs before exploring

 private:
  EventStream* events_;
  std::function<double()> seconds_;
  const char* phase_ = "";
  uint64_t of_ = 0;
  double told_ = -1;
};

// Facts that a walk over the trace tells before anything is run.
struct TraceSurvey {
  uint64_t crash_points = 0;
  std::set<uint64_t> pages;  // of the offset space, where two images of the trace may differ
};

// Walking takes no recoveries, and so a small part of the time. Exploring tells the faults of a trace. Only runs that
// report their reads have use for the pages.
Result<TraceSurvey> survey(const LoadedProgram& loaded, const ProgramOptions& options, uint8_t* pool,
                           const std::function<bool()>& ended) {
  loaded.clear(pool);
  auto follower = loaded.follower(options.model, options.policy(), pool);
  if (!follower) return follower.error();
  TraceSurvey out;
  const auto differ = [&out](uint64_t line) { out.pages.insert(line * kLineSize / POWERCUT_READ_LOG_PAGE); };
  for (bool first = true; !ended() && (*follower)->next(); first = false) {
    if (!options.report_reads) continue;
    const std::vector<Frontier::Change>& changes = (*follower)->follow();
    if (!first) {
      for (const Frontier::Change& change : changes) differ(change.line);
    } else {  // what is definite at the first crash point, all images begin with
      for (const LineSet* set : (*follower)->frontier().sets()) differ(set->line);
    }
  }
  out.crash_points = (*follower)->crash_points();
  return out;
}

int explore(const ProgramOptions& asked, EventStream& events) {
  ProgramOptions options = asked;
  if (options.nested > 0) options.native_box = 0;  // the stores of recovery are known for traced runs alone
  if (auto wrong = check_model(options.model, options.atoms, "program")) return events.error(*wrong);
  const auto start = Clock::now();
  const auto seconds = [&start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  struct sigaction stop{};
  stop.sa_handler = [](int) { interrupted = cancelled = true; };
  sigaction(SIGINT, &stop, nullptr);
  sigaction(SIGTERM, &stop, nullptr);
  sigaction(SIGHUP, &stop, nullptr);
  const BudgetClock budget(options);
  // Once it has ended nothing is run any more, so that whatever was cut short has no part in a verdict.
  const auto ended = [&budget] { return interrupted || budget.over(); };
  auto opened = LoadedProgram::open(options);
  if (!opened) return events.error(opened.error());
  const LoadedProgram& loaded = **opened;
  const Result<std::string> model = loaded.model(options.model);
  if (!model) return events.error(model.error());
  options.model = *model;
  const ProgramCommands& commands = loaded.commands();
  events.end_when_unheard();
  auto created = loaded.workers(options.jobs, &cancelled);
  if (!created) return events.error(created.error());

  events.hello("program");
  events.emit(modules_event(loaded.modules()));
  events.emit({{"event", "run"},
               {"target", std::filesystem::path(commands.recover.given).filename()},
               {"variant", ""},
               {"scenario", "program"},
               {"model", options.model},
               {"strategy", "program"},
               {"seed", options.seed},
               {"nested", options.nested},
               {"jobs", options.jobs},
               {"atoms", options.atoms},
               {"events", loaded.events()}});

  auto advice = performance_events(options, loaded.pools(), ended);
  if (!advice) return events.error(advice.error());
  for (const Json& event : *advice) events.emit(event);
  ProgramProgress progress(&events, seconds);
  auto pool = loaded.memory(), pool_ahead = loaded.memory();
  if (!pool || !pool_ahead) return events.error(pool ? pool_ahead.error() : pool.error());
  const Result<TraceSurvey> surveyed = survey(loaded, options, *pool, ended);
  if (!surveyed) return events.error(surveyed.error());
  if (options.report_reads) {
    for (const auto& worker : *created) worker->follow(surveyed->pages);
  }
  if (commands.print()) progress.begin("observing", surveyed->crash_points);
  auto expected = loaded.expected(&cancelled, &progress.observed, [&] {
    progress.tell({});
    return !ended();
  });
  if (!expected && interrupted) return events.end(kExitUnknown);
  const bool observed = expected.ok();
  if (!observed && !budget.over()) return events.error(expected.error());
  const ExpectedOutputs none;
  const ExpectedOutputs& outputs = observed ? *expected : none;
  const ProgramExplorer::Begin begin = [&](uint8_t* over) {
    loaded.clear(over);
    return loaded.follower(options.model, options.policy(), over);
  };
  ImageWorkers workers(std::move(*created));
  progress.begin("exploring", surveyed->crash_points);
  const ProgramListener listener = {
      .modules = loaded.modules(),
      .modules_grown = [&](const std::vector<TraceModule>& modules) { events.emit(modules_event(modules)); },
      .found = [&events](const Json& finding) { events.emit(finding); },
      .progressed = [&](const ProgramExplored& so_far) { progress.tell(so_far); },
      .interrupted = [] { return interrupted.load(); },
      .useless = [&loaded] { return !loaded.files().clear(); }};
  ProgramOptions left = options;  // of the budget, what observing has not taken
  for (double* part : {&left.budget_seconds, &left.budget_found}) {
    if (*part > 0) *part = budget.left(*part, options.budget_spent);
  }
  const ProgramExplorer::Pools pools = {*pool, options.jobs > 1 ? *pool_ahead : nullptr};
  ProgramExplorer explorer(left, commands, begin, pools, &workers, &outputs, listener);
  ProgramExplored explored = explorer.explore();
  explored.executions += progress.observed;
  const ExplorationResult result = result_of(ProgramRun{.options = options,
                                                        .commands = commands,
                                                        .explored = explored,
                                                        .expected = outputs,
                                                        .events = loaded.events(),
                                                        .threads = loaded.threads(),
                                                        .seconds = seconds(),
                                                        .notes = workers.first().notes(),
                                                        .pools = loaded.pools(),
                                                        .files = loaded.files(),
                                                        .observed = observed});
  events.emit(result.event());
  return events.end(result.exit_code());
}

void add_options(CommandLine& command, ProgramOptions& options) {
  add_recovery_options(&command, &options);
  add_model_options(&command, &options.model, &options.atoms);
  command.add_flag("--stop-at-functional", options.stop_at_functional,
                   "End at the first finding that needs no power cut");
  command.add_option("--jobs", options.jobs, "Recoveries at a time")->range(1, 1024);
  command.add_option("--nested", options.nested, "Cuts inside recovery; they take --trace-prefix")->range(0, 1);
  command.add_option("--seed", options.seed, "Seed of the images where not all are tried");
  command.add_option("--images", options.images, "Images that are tried at a crash point at most")
      ->range(uint64_t{2}, uint64_t{1} << 24);
  command.add_option("--budget-seconds", options.budget_seconds, "Stop after this time");
  command.add_option("--budget-spent", options.budget_spent, "Seconds of these budgets that are spent already");
  command.add_option("--budget-found", options.budget_found, "Stop after this time where something was found by then");
  command.add_option("--budget-executions", options.budget_executions, "Stop after this many runs of recovery");
  command.add_option("--trace-prefix", options.tracer,
                     "JSON: command and environment that run a command under a tracer that records loads");
  command.add_option("--device-prefix", options.device_tracer,
                     "JSON as of --trace-prefix, for a tracer that records calls on a device: cuts inside recovery");
  command.add_option("--keep-image", options.keep_image,
                     "File to which an image is copied on which recovery came to two different ends");
  command.add_flag("--report-reads", options.report_reads,
                   "Runs report what they read themselves, where that can be followed");
  command.add_option("--native-box", options.native_box, "With a tracer, sets of so many images are run one by one");
}

}  // namespace

void add_program_command(CommandLine& app, int& exit_code) {
  add_command<ProgramOptions>(app, exit_code, "program",
                              "Explore a recorded program's crash states with its own recovery", add_options, explore,
                              Addresses::kFixed);
}

}  // namespace powercut

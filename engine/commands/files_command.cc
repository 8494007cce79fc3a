// `powercut-engine files`: every tree that a power cut may leave of a recorded folder, under each profile, given to the
// recovery command in the folder's place.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>

#include "base/user_file.h"
#include "checker/exploration/trees/tree_result.h"
#include "checker/findings/finding.h"
#include "checker/subjects/program/trees/loaded_folder.h"
#include "engine/commands.h"
#include "engine/folder_options.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> stopped = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

struct FilesOptions {
  FolderOptions folder;
  TreeOptions trees;
  std::string edits;
  double budget_spent = 0;
};

void add_options(CommandLine& command, FilesOptions& options) {
  add_folder_options(&command, &options.folder);
  command.add_option("--edits", options.edits, "JSON: syncs that are added, and calls that are moved: a tried fix");
  command.add_flag("--stop-at-functional", options.trees.stop_at_functional,
                   "End at the first finding that needs no power cut");
  command.add_option("--jobs", options.folder.program.jobs, "Recoveries at a time")->range(1, 1024);
  command.add_flag_callback(
      "--no-merge-lives", [&options] { options.trees.merge_lives = false; },
      "Explore second lives that begin alike each anew");
  command.add_option("--nested", options.trees.nested, "Cuts inside recovery")->range(0, 1);
  command.add_option("--seed", options.folder.program.seed, "Kept for the record: nothing is drawn");
  command.add_option("--budget-seconds", options.trees.budget.seconds, "Stop after this time");
  command.add_option("--budget-spent", options.budget_spent, "Seconds of these budgets that are spent already");
  command.add_option("--budget-found", options.trees.budget_found, "Stop after this time where something was found");
  command.add_option("--budget-executions", options.trees.budget.executions, "Stop after this many runs of recovery");
  command.add_option("--effort", options.trees.effort, "Steps that one question about trees may take");
}

// How far it is, four times a second at most.
class FilesProgress {
 public:
  FilesProgress(EventStream* events, const TreeRuns* runs, Clock::time_point start)
      : events_(events), runs_(runs), start_(start) {}

  void begin(const char* phase) {
    phase_ = phase;
    told_ = -1;
  }
  void tell(const TreesExplored& so_far) {
    const double now = std::chrono::duration<double>(Clock::now() - start_).count();
    if (now < told_ + 0.25) return;
    told_ = now;
    uint64_t points = 0, covered = 0;
    files::Count states = 0;
    for (const ExploredProfile& profile : so_far.profiles) {
      points += profile.crash_points;
      covered += profile.covered_points;
      states += profile.covered;
    }
    events_->emit({{"event", "progress"},
                   {"phase", phase_},
                   {"crash_points", covered},
                   {"of", points},
                   {"crash_states", states.str()},
                   {"executions", runs_->runs()},
                   {"repeats", runs_->repeats()},
                   {"findings", so_far.findings.size()},
                   {"seconds", now}});
  }

 private:
  EventStream* events_;
  const TreeRuns* runs_;
  const Clock::time_point start_;
  const char* phase_ = "";
  double told_ = -1;
};

void stop_at_signals() {
  struct sigaction stop{};
  stop.sa_handler = [](int) { stopped = true; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &stop, nullptr);
}

int explore(const FilesOptions& asked, EventStream& events) {
  FilesOptions options = asked;
  const auto start = Clock::now();
  stop_at_signals();
  options.trees.units = units_of(options.folder);
  for (double* part : {&options.trees.budget.seconds, &options.trees.budget_found}) {
    if (*part > 0) *part = std::max(0.001, *part - options.budget_spent);
  }
  auto profiles = read_profiles(options.folder.profiles);
  if (!profiles) return events.error(profiles.error());
  auto calls = RecordedCalls::load(options.folder.program.trace);
  if (!calls) return events.error(calls.error());
  if (!options.edits.empty()) {
    const Result<std::string> text = read_user_file(options.edits, "Name a file that exists and may be read.");
    if (!text) return events.error(text.error());
    if (auto wrong = calls->edit(parse_json(*text), options.edits)) return events.error(*wrong);
  }
  auto folder = LoadedFolder::open(options.folder.program, options.folder.folder);
  if (!folder) return events.error(folder.error());
  const LoadedFolder& loaded = **folder;
  events.end_when_unheard();
  auto workers = loaded.workers(options.folder.program.jobs, &stopped);
  if (!workers) return events.error(workers.error());

  events.hello("files");
  events.emit(modules_event(calls->modules()));
  events.emit({{"event", "run"},
               {"target", std::filesystem::path(loaded.commands().recover.given).filename()},
               {"variant", ""},
               {"scenario", "files"},
               {"model", "files"},
               {"strategy", "files"},
               {"seed", options.folder.program.seed},
               {"nested", options.trees.nested},
               {"jobs", options.folder.program.jobs},
               {"atoms", ""},
               {"events", calls->events()}});
  Outcomes outcomes;
  files::Contents contents(options.trees.units.sector);
  const ModeOf mode = [&loaded](const std::string& path, InodeKind kind) { return loaded.mode(path, kind); };
  TreeRuns runs(&*workers, options.folder.program.ordered, &mode, &outcomes);
  TreeRuns continued = runs.continued();
  FilesProgress progress(&events, &runs, start);
  const TreeListener listener = {.found = [&events](const Json& finding) { events.emit(finding); },
                                 .progressed = [&](const TreesExplored& so_far) { progress.tell(so_far); },
                                 .interrupted = [] { return stopped.load(); }};
  TreeExplorer explorer(options.trees, loaded.commands(), *calls, std::move(*profiles), &runs,
                        loaded.commands().continuation ? &continued : nullptr, &outcomes, &contents, listener);
  progress.begin("observing");
  if (auto wrong = explorer.observe()) {
    return stopped ? events.end(kExitUnknown) : events.error(*wrong);
  }
  progress.begin("exploring");
  const TreesExplored explored = explorer.explore();
  const FolderResult result = result_of({.options = options.trees,
                                         .commands = loaded.commands(),
                                         .explored = explored,
                                         .expected = explorer.expected(),
                                         .calls = *calls,
                                         .runs = runs,
                                         .files = loaded.files(),
                                         .seconds = std::chrono::duration<double>(Clock::now() - start).count(),
                                         .notes = (*workers)[0]->notes()});
  events.emit(result.event());
  return events.end(result.result.exit_code());
}

}  // namespace

void add_files_command(CommandLine& app, int& exit_code) {
  add_command<FilesOptions>(app, exit_code, "files", "Explore what power cuts leave of a recorded folder", add_options,
                            explore, Addresses::kFixed);
}

}  // namespace powercut

// `powercut-engine drive`: runs a plan's workload on the target's plain library, for a tracer that looks on from
// outside (tracer/valgrind). Operations, phases, cuts and marks are told by client requests (powercut/mark.h); the
// metadata of the trace goes to a file.
//
// One process, and no restart: neither a child nor a new program would be recorded.
#include <dlfcn.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/event_stream.h"
#include "checker/audit/audit.h"
#include "engine/commands.h"
#include "powercut/mark.h"
#include "tracer/format/build_id.h"
#include "tracer/format/event_groups.h"
#include "tracer/record/recording.h"

namespace powercut {
namespace {

struct DriveOptions {
  std::string plan, metadata;
  double operation_timeout = 60;
};

void add_options(CommandLine& command, DriveOptions& options) {
  command.add_option("--plan", options.plan, "Plan (JSON, scenarios/SCHEMA.md)")->required();
  command.add_option("--metadata", options.metadata, "File for the trace's metadata")->required();
  command
      .add_option("--operation-timeout", options.operation_timeout,
                  "Wall-clock seconds after which one operation counts as hanging")
      ->positive()
      ->capture_default_str();
}

class Requests final : public Announcer {
 public:
  void append(const Event& event) override {
    const auto address = [](const void* pointer) { return reinterpret_cast<unsigned long>(pointer); };
    switch (event.kind) {
      case EventKind::kOpBegin: {
        // The value of a maintenance operation is its command.
        const bool maintains = static_cast<OpKind>(event.code) == OpKind::kMaintain;
        powercut_mark_request(POWERCUT_MARK_BEGIN, event.code, address(event.key.data()), event.key.size(),
                              maintains ? address(event.text.data()) : address(event.value.data()),
                              maintains ? event.text.size() : event.value.size());
        break;
      }
      case EventKind::kOpEnd:
        powercut_mark_request(POWERCUT_MARK_END, event.code, address(event.value.data()), event.value.size(), 0, 0);
        break;
      case EventKind::kMarker:
        powercut_mark_request(POWERCUT_MARK_POINT, address(std::string(event.text).c_str()), 0, 0, 0, 0);
        break;
      case EventKind::kPhase:
        powercut_mark_request(POWERCUT_MARK_PHASE, event.code, address(std::string(event.text).c_str()), 0, 0, 0);
        break;
      case EventKind::kCut:
        powercut_mark_request(POWERCUT_MARK_CUT, 0, 0, 0, 0, 0);
        break;
      case POWERCUT_MEMORY_EVENTS:
      case POWERCUT_PROCESS_EVENTS:
      case POWERCUT_TREE_EVENTS:
      case EventKind::kContent:
        break;
    }
  }
};

// Ends a workload in which one operation never returns. There is no second process that could.
class Watchdog {
 public:
  Watchdog(double seconds, const Progress& progress) {
    watched = &progress;
    struct sigaction action{};
    action.sa_handler = [](int) {
      if (watched->steps.load() != seen) {
        seen = watched->steps.load();
        return;
      }
      for (const char* text : {"the target hangs in: ", watched->operation, " (", watched->place, ")\n"}) {
        if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
      }
      _exit(kExitUnknown);
    };
    sigaction(SIGALRM, &action, nullptr);
    const auto whole = static_cast<time_t>(seconds);
    const timeval period{whole, static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6)};
    const itimerval timer{period, period};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  ~Watchdog() {
    const itimerval off{};
    setitimer(ITIMER_REAL, &off, nullptr);
  }

 private:
  // State of the process, as the signal is.
  static inline const Progress* watched = nullptr;
  static inline std::atomic<uint64_t> seen = UINT64_MAX;
};

Result<Recording::Marks> drive(const Plan& plan, const DriveOptions& options) {
  if (powercut_mark_active() == 0) {
    return usage_error("nothing records this process", "powercut-engine drive",
                       "Use 'powercut record --tracer valgrind', which starts it under the tool.");
  }
  const Result<Pool> pool = Pool::map(plan.scenario.pool_size, "scenario " + plan.scenario.name);
  if (!pool) return pool.error();
  powercut_mark_pool(pool->base(), pool->size());
  const std::string plain = plain_library(plan.target.library);
  const Result<TargetLibrary> library = TargetLibrary::load(plain.empty() ? plan.target.library : plain);
  if (!library) return library.error();
  TargetConfig config(plan.target.variant, plan.target.options, plan.scenario.data);
  const Result<powercut_traits> traits = library->configure(plan.target.name, config);
  if (!traits) return traits.error();

  // The trace belongs to the instrumented library, which explores the trace.
  Json metadata = trace_metadata(plan, *library, *traits, *pool);
  const std::string explored = std::filesystem::weakly_canonical(plan.target.library);
  metadata["target"]["path"] = explored;
  metadata["target"]["build_id"] = file_build_id(explored);
  metadata["tracer"] = "valgrind";
  std::ofstream file(options.metadata);
  if (!(file << metadata.dump(-1, ' ', false, Json::error_handler_t::replace) << std::flush)) {
    return usage_error("cannot write the metadata", options.metadata, "Name a file that can be written.");
  }

  Progress progress{};
  Requests requests;
  Recording recording(plan, *library, config, traits->checks_exists != 0, *pool, nullptr, progress, &requests);
  // An instrumented library that has no plain twin must execute what it would otherwise only announce.
  __powercut_real_flush = 1;
  const Watchdog watchdog(options.operation_timeout, progress);
  if (std::optional<EngineError> wrong = recording.run()) return *wrong;
  return recording.marks();
}

int run_drive(const DriveOptions& options, EventStream& events) {
  events.hello("drive");
  const Result<Plan> plan = read_plan(options.plan);
  if (!plan) return events.error(plan.error());
  const Result<Recording::Marks> marks = drive(*plan, options);
  if (!marks) return events.error(marks.error());
  events.emit({{"event", "driven"}, {"marks", *marks}});
  return events.end(kExitOk);
}

}  // namespace

void add_drive_command(CommandLine& app, int& exit_code) {
  add_command<DriveOptions>(app, exit_code, "drive", "Run a plan's workload for a tracer that looks on from outside.",
                            add_options, run_drive);
}

}  // namespace powercut

// `powercut-engine faults`: damaged images, failing allocations and stale contents of a recorded run.
// Exit code: 1 findings, 0 none and every case was judged, 3 none but the budget left some out.
#include <chrono>

#include "base/supervisor.h"
#include "checker/faults/fault_allocations.h"
#include "checker/faults/fault_images.h"
#include "checker/faults/fault_stale.h"
#include "checker/trace/explore_options.h"
#include "engine/commands.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

struct Given {
  FaultOptions options;
  std::string kind;
  double watchdog_seconds = 120;
};

void add_options(CommandLine& command, Given& given) {
  command.add_option("--trace", given.options.trace, "Trace file")->required();
  command.add_option("--fault", given.kind, fault_names())->required();
  command.add_option("--budget-executions", given.options.budget, "Stop after this many runs of recovery");
  command.add_option("--traces", given.options.traces, "Folder for the traces of alloc, which exists");
  command.add_option("--seed", given.options.seed, "Seed of the noise in a fresh pool");
  add_step_options(&command, &given.options.step_budget, &given.watchdog_seconds);
}

// Runs in the child.
std::optional<EngineError> inject(const LoadedTrace& loaded, const FaultOptions& options, FaultReport* report,
                                  Progress* progress, EventStream* events) {
  if (options.kind == FaultKind::kAllocation) {
    AllocationFaults faults(loaded, options, report, progress,
                            [events](const std::string& trace, const std::string& subject) {
                              events->emit({{"event", "fault_trace"}, {"trace", trace}, {"subject", subject}});
                            });
    return faults.run();
  }
  if (options.kind == FaultKind::kStale) return StaleFaults(loaded, options, report, progress).run();
  const Result<uint64_t> points = ImageFaults::count_points(loaded, options.kind);
  if (!points) return points.error();
  auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  ImageFaults faults(loaded, options, *points, std::move(*reader), report, progress);
  return faults.run();
}

int run(const Given& given, EventStream& events) {
  const auto kind = fault_kind(given.kind);
  if (!kind) {
    return events.error(
        usage_error("unknown fault '" + given.kind + "'", "--fault", "Use one of: " + fault_names() + "."));
  }
  FaultOptions options = given.options;
  options.kind = *kind;
  if (*kind == FaultKind::kAllocation && options.traces.empty()) {
    return events.error(usage_error("a failing allocation leaves a trace of its run", "--traces",
                                    "Name the folder that these traces go to."));
  }
  if (const auto run = open_run(options.trace); !run) return events.error(run.error());
  auto opened = load_trace(options.trace);
  if (!opened) return events.error(opened.error());
  const LoadedTrace& loaded = **opened;
  if (const auto of = foreign_to(options.kind, loaded.device.medium)) {
    return events.error(usage_error(std::string(name_of(options.kind)) + " is a fault of " + *of +
                                        ", and the pool of '" + loaded.plan.target.name + "' is " +
                                        std::string(loaded.medium().called),
                                    "--fault", "Leave it out: without --fault every kind that fits is tried."));
  }
  events.hello("faults");
  const Clock::time_point start = Clock::now();
  const EngineError broke = harness_error("the faults could not be judged", loaded.library->path(),
                                          "Report this if the target is not at fault.");
  return answer_in_child(given.watchdog_seconds, broke, events, [&](Progress& progress) {
    FaultReport report(loaded, options);
    if (auto error = inject(loaded, options, &report, &progress, &events)) return events.error(*error);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    for (const Json& event : report.events(seconds)) events.emit(event);
    return events.end(report.findings() > 0 ? kExitFindings : report.tally.complete() ? kExitOk : kExitUnknown);
  });
}

}  // namespace

void add_faults_command(CommandLine& app, int& exit_code) {
  add_command<Given>(app, exit_code, "faults",
                     "Inject faults into a recorded run and judge what the target makes of them", add_options, run,
                     Addresses::kFixed);
}

}  // namespace powercut

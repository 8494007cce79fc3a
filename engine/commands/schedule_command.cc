// `powercut-engine schedule`: one schedule out of a tree of them, as a trace.
#include <memory>

#include "base/event_stream.h"
#include "base/user_file.h"
#include "checker/edit/schedule_trace.h"
#include "checker/subjects/program/images/trace_pools.h"
#include "checker/trace/explore_options.h"
#include "checker/trace/trace_follower.h"
#include "engine/commands.h"
#include "replayer/media/open_trace.h"

namespace powercut {
namespace {

struct ScheduleOptions {
  std::string trace, out, model = "adr";
  uint64_t crash_point = 0;
};

void add_options(CommandLine& command, ScheduleOptions& options) {
  command.add_option("--trace", options.trace, "Trace with a tree of schedules")->required();
  command.add_option("--crash-point", options.crash_point, "Number of the crash point that it leads to")->required();
  command.add_option("--model", options.model, "Persistency model of a program's trace");
  command.add_option("--out", options.out, "Trace to write")->required();
}

// A walk through the trace of a target, or of a program.
Result<std::unique_ptr<TraceFollower>> follow(const ScheduleOptions& options) {
  auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  if (parse_json((*reader)->metadata()).contains("plan")) {
    auto loaded = load_trace(options.trace);
    if (!loaded) return loaded.error();
    return std::make_unique<TraceFollower>(**loaded, (*loaded)->plan.search.model, AtomPolicy::kAny, std::move(*reader),
                                           nullptr);
  }
  if (auto wrong = check_model(options.model, "any", "schedule")) return *wrong;
  auto pools = pools_of_trace((*reader)->metadata(), options.trace, "");
  if (!pools) return pools.error();
  return std::make_unique<TraceFollower>(pools->space, /*explored=*/false, options.model, AtomPolicy::kAny,
                                         std::move(*reader), nullptr);
}

int schedule(const ScheduleOptions& options, EventStream& events) {
  events.hello("schedule");
  const auto walk = follow(options);
  if (!walk) return events.error(walk.error());
  const auto written = write_schedule(options.trace, **walk, options.crash_point, options.out);
  if (!written) return events.error(written.error());
  events.emit({{"event", "schedule"}, {"trace", options.out}, {"events", written->events}, {"first", written->first}});
  return events.end(kExitOk);
}

}  // namespace

void add_schedule_command(CommandLine& app, int& exit_code) {
  add_command<ScheduleOptions>(app, exit_code, "schedule", "Write one schedule of a tree of them as a trace",
                               add_options, schedule);
}

}  // namespace powercut

// `powercut-engine schedule`: one schedule out of a tree of them, as a trace.
#include <memory>

#include "base/event_stream.h"
#include "checker/edit/schedule_trace.h"
#include "checker/trace/explore_options.h"
#include "engine/commands.h"

namespace powercut {
namespace {

struct ScheduleOptions {
  std::string trace, model, out;
  uint64_t crash_point = 0;
};

int schedule(const ScheduleOptions& options, EventStream& events) {
  events.hello("schedule");
  const auto written = write_schedule(options.trace, options.model, options.crash_point, options.out);
  if (!written) return events.error(written.error());
  events.emit({{"event", "schedule"}, {"trace", options.out}, {"events", written->events}, {"first", written->first}});
  return events.end(kExitOk);
}

}  // namespace

void add_schedule_command(CommandLine& app, int& exit_code) {
  CommandLine* command = app.add_subcommand("schedule", "Write one schedule of a tree of them as a trace");
  auto options = std::make_shared<ScheduleOptions>();
  command->add_option("--trace", options->trace, "Trace with a tree of schedules")->required();
  command->add_option("--crash-point", options->crash_point, "Number of the crash point that it leads to")->required();
  command->add_option("--model", options->model, "Persistency model of a program's trace (default adr)");
  command->add_option("--out", options->out, "Trace to write")->required();
  command->callback([options, &exit_code] {
    EventStream events = EventStream::standard_output();
    exit_code = schedule(*options, events);
  });
}

}  // namespace powercut

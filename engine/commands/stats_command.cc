// `powercut-engine stats`: how much a trace holds, by kind of operation.
#include <filesystem>

#include "engine/commands.h"
#include "replayer/media/open_trace.h"
#include "tracer/view/trace_stats.h"

namespace powercut {

namespace {

struct StatsOptions {
  std::string trace;
};

void add_options(CommandLine& command, StatsOptions& options) {
  command.add_option("--trace", options.trace, "Trace to read")->required();
}

int run_stats(const StatsOptions& options, EventStream& events) {
  events.hello("stats");
  auto opened = open_trace(options.trace);
  if (!opened) return events.error(opened.error());
  TraceReader* reader = opened->get();
  Result<TraceStats> stats = stats_of(*reader);
  if (!stats) return events.error(stats.error());
  uint64_t count = stats->events();
  uint64_t raw = reader->raw_bytes();
  events.emit({{"event", "stats"},
               {"trace", options.trace},
               {"events", count},
               {"operations", stats->operations()},
               {"bytes", std::filesystem::file_size(options.trace)},
               {"raw_bytes", raw},
               {"raw_bytes_per_record", count == 0 ? 0.0 : static_cast<double>(raw) / static_cast<double>(count)},
               {"kinds", stats->events_by_kind()},
               {"marks", stats->marks()},
               {"counters", TraceStats::json(stats->all())},
               {"counters_explored", TraceStats::json(stats->explored())}});
  return events.end(kExitOk);
}

}  // namespace

void add_stats_command(CommandLine& app, int& exit_code) {
  add_command<StatsOptions>(app, exit_code, "stats", "Count what a trace holds, by kind of operation.", add_options,
                            run_stats);
}

}  // namespace powercut

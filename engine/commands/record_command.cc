// `powercut-engine record`: runs a plan's workload on its target and writes the trace.
#include "engine/commands.h"
#include "engine/plan_recording.h"

namespace powercut {

namespace {

int run_record(const RecordOptions& options, EventStream& events) {
  events.hello("record");
  if (const std::optional<int> failed = record_plan(options, events)) return *failed;
  return events.end(kExitOk);
}

void add_options(CommandLine& command, RecordOptions& options) {
  command.add_option("--plan", options.plan, "Plan (JSON, scenarios/SCHEMA.md)")->required();
  command.add_option("--trace", options.trace, "Trace to write")->required();
  command
      .add_option("--operation-timeout", options.operation_timeout,
                  "Wall-clock seconds after which one operation counts as hanging")
      ->positive()
      ->capture_default_str();
  command.add_flag("--count-loads", options.count_loads, "Count the lines that explored operations read");
  command.add_option("--loads", options.loads, "With --count-loads: write the count of every operation to this file");
  command.add_option("--media-reads", options.media_reads,
                     "With --count-loads: write the 256-byte blocks that every operation read to this file");
  command.add_option("--cached-lines", options.cached_lines,
                     "With --media-reads: lines of a cache, which need no read of the medium");
  command.add_flag("--unseen-stores", options.unseen_stores,
                   "Accept a library whose stores cannot be seen, as one that counts lines; the trace lacks them");
}

}  // namespace

void add_record_command(CommandLine& app, int& exit_code) {
  add_command<RecordOptions>(app, exit_code, "record", "Run a plan's workload on its target and write the trace.",
                             add_options, run_record, Addresses::kFixed);
}

}  // namespace powercut

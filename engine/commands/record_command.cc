// `powercut-engine record`: runs a plan's workload on its target and writes the trace.
#include <memory>

#include "base/repeatable_process.h"
#include "engine/commands.h"
#include "engine/plan_recording.h"

namespace powercut {

namespace {

int run_record(const RecordOptions& options) {
  make_repeatable();
  EventStream events = EventStream::standard_output();
  events.hello("record");
  if (const std::optional<int> failed = record_plan(options, events)) return *failed;
  return events.end(kExitOk);
}

}  // namespace

void add_record_command(CommandLine& app, int& exit_code) {
  auto* command = app.add_subcommand("record", "Run a plan's workload on its target and write the trace.");
  auto options = std::make_shared<RecordOptions>();
  command->add_option("--plan", options->plan, "Plan (JSON, scenarios/SCHEMA.md)")->required();
  command->add_option("--trace", options->trace, "Trace to write")->required();
  command
      ->add_option("--operation-timeout", options->operation_timeout,
                   "Wall-clock seconds after which one operation counts as hanging")
      ->positive()
      ->capture_default_str();
  command->add_flag("--count-loads", options->count_loads, "Count the lines that explored operations read");
  command->add_option("--loads", options->loads, "With --count-loads: write the count of every operation to this file");
  command->add_flag("--unseen-stores", options->unseen_stores,
                    "Accept a library whose stores cannot be seen, as one that counts lines; the trace lacks them");
  command->callback([options, &exit_code] { exit_code = run_record(*options); });
}

}  // namespace powercut

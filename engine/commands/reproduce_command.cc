// `powercut-engine reproduce`: one finding again, on its trace.
// Exit code: 1 when its image still violates an invariant, 0 when not, 2 when it cannot be replayed here, 3 when
// the replay itself broke.

#include "base/supervisor.h"
#include "checker/replay/reproduction.h"
#include "checker/trace/explore_options.h"
#include "engine/commands.h"

namespace powercut {
namespace {

struct ReproduceOptions {
  std::string trace, finding;
  int64_t step_budget = 0;
  double watchdog_seconds = 120;
  bool draw = false, steps = false;
};

void add_options(CommandLine& command, ReproduceOptions& options) {
  command.add_option("--trace", options.trace, "Trace that the finding was made on")->required();
  command.add_option("--finding", options.finding, "Finding record (JSON)")->required();
  command.add_flag("--draw", options.draw, "Draw the table, with everything persisted and on the finding's image");
  command.add_flag("--steps", options.steps, "Tell what recovery and the query load and store");
  add_step_options(&command, &options.step_budget, &options.watchdog_seconds);
}

int reproduce(const ReproduceOptions& options, EventStream& events) {
  const Result<FindingRecord> record = read_finding(options.finding);
  if (!record) return events.error(record.error());
  auto opened = load_trace(options.trace);
  if (!opened) return events.error(opened.error());
  const LoadedTrace& loaded = **opened;
  auto reader = open_trace(options.trace);
  if (!reader) return events.error(reader.error());
  events.hello("reproduce");
  events.emit(modules_event(loaded.modules));

  const EngineError broke =
      harness_error("the replay broke, so nothing is known of the finding", loaded.library->path(),
                    "Run 'powercut run', and report this if the target is not at fault.");
  return answer_in_child(options.watchdog_seconds, broke, events, [&](Progress& progress) {
    Reproduction reproduction(loaded, *record, options.step_budget, std::move(*reader), &progress);
    if (options.draw) reproduction.draw_tables();
    if (options.steps) reproduction.keep_steps();
    const Result<Reproduction::Shown> shown = reproduction.run();
    if (!shown) return events.error(shown.error());
    const bool held = shown->has_value();
    if (!held && !reproduction.doubts().empty()) {
      return events.error(harness_error("nothing is known of the finding: " + reproduction.doubts()[0], options.finding,
                                        "Look there, or raise --step-budget."));
    }
    Json event = {{"event", "reproduced"}, {"held", held}, {"finding", held ? **shown : Json(nullptr)}};
    if (options.draw) event["drawing"] = reproduction.drawing();
    if (options.steps) {
      event["steps"] = reproduction.steps();
      if (reproduction.modules().size() > loaded.modules.size()) events.emit(modules_event(reproduction.modules()));
    }
    events.emit(event);
    return events.end(held ? kExitFindings : kExitOk);
  });
}

}  // namespace

void add_reproduce_command(CommandLine& app, int& exit_code) {
  add_command<ReproduceOptions>(app, exit_code, "reproduce", "Replay one finding on its trace", add_options, reproduce,
                                Addresses::kFixed);
}

}  // namespace powercut

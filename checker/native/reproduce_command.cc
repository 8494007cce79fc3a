// `powercut-engine reproduce`: one finding again, on its trace.
// Exit code: 1 when its image still violates an invariant, 0 when not, 2 when it cannot be replayed here, 3 when
// the replay itself broke.
#include <memory>

#include "checker/native/commands.h"
#include "checker/native/explore_options.h"
#include "checker/native/repeatable_process.h"
#include "checker/native/reproduction.h"
#include "checker/native/supervisor.h"

namespace powercut {
namespace {

// Added to the child's exit code once it has answered: a target that calls exit() cannot answer for it.
constexpr int kAnswered = 64;

struct ReproduceOptions {
  std::string trace, finding;
  int64_t step_budget = 0;
  double watchdog_seconds = 120;
  bool draw = false;
};

int reproduce(const ReproduceOptions& options, EventStream& events) {
  const Result<FindingRecord> record = read_finding(options.finding);
  if (!record) return events.error(record.error());
  auto opened = open_session(options.trace);
  if (!opened) return events.error(opened.error());
  const Session& session = **opened;
  auto reader = open_trace(options.trace);
  if (!reader) return events.error(reader.error());
  events.hello("reproduce");
  events.emit(modules_event(session.modules));

  // In a child: what the target does to the process, it does to one that nobody needs.
  const ChildEnd end = supervise(options.watchdog_seconds, [&](Progress& progress) {
    Reproduction reproduction(session, *record, options.step_budget, std::move(*reader), &progress);
    if (options.draw) reproduction.draw_tables();
    const Result<Reproduction::Shown> shown = reproduction.run();
    if (!shown) return kAnswered + events.error(shown.error());
    const bool held = shown->has_value();
    Json event = {{"event", "reproduced"}, {"held", held}, {"finding", held ? **shown : Json(nullptr)}};
    if (options.draw) event["drawing"] = reproduction.drawing();
    events.emit(event);
    return kAnswered + events.end(held ? kExitFindings : kExitOk);
  });
  if (!end.error && end.exit_code >= kAnswered) return end.exit_code - kAnswered;
  if (end.error && end.how.empty()) return events.error(*end.error);
  const std::string how = end.error ? end.how : "the target left with exit status " + std::to_string(end.exit_code);
  return events.error(harness_error("the replay broke, so nothing is known of the finding: " + how,
                                    session.library->path(),
                                    "A fault of the target is caught and judged; one that ends the process is not. "
                                    "Run 'powercut run', and report this if the target is not at fault."));
}

}  // namespace

void add_reproduce_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("reproduce", "Replay one finding on its trace");
  auto options = std::make_shared<ReproduceOptions>();
  command->add_option("--trace", options->trace, "Trace that the finding was made on")->required();
  command->add_option("--finding", options->finding, "Finding record (JSON)")->required();
  command->add_flag("--draw", options->draw, "Draw the table, with everything persisted and on the finding's image");
  command->add_option("--step-budget", options->step_budget, "Loop turns and calls that one execution may take");
  command->add_option("--watchdog-seconds", options->watchdog_seconds, "Wall-clock limit of one step")
      ->check(CLI::PositiveNumber);
  command->callback([options, &exit_code] {
    make_repeatable();
    EventStream events = EventStream::standard_output();
    exit_code = reproduce(*options, events);
  });
}

}  // namespace powercut

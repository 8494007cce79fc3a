// `powercut-engine judge`: what recovery and all queries make of given crash images.
// Exit code: 0 when every request was answered, whatever the answers are; 2 for a request that makes no sense, 3 when
// the target broke the process.

#include "base/supervisor.h"
#include "checker/replay/library_images.h"
#include "checker/trace/explore_options.h"
#include "engine/commands.h"

namespace powercut {
namespace {

struct JudgeOptions {
  std::string trace, requests, model = "adr", atoms = "any";
  int64_t step_budget = 0;
  double watchdog_seconds = 120;
};

void add_options(CommandLine& command, JudgeOptions& options) {
  command.add_option("--trace", options.trace, "Trace that the images are of")->required();
  command.add_option("--requests", options.requests, "Images, one JSON object a line (reports/EVENTS.md)")->required();
  add_model_options(&command, &options.model, &options.atoms);
  add_step_options(&command, &options.step_budget, &options.watchdog_seconds);
}

int judge(const JudgeOptions& options, EventStream& events) {
  if (const auto wrong = check_model(options.model, options.atoms, "judge")) return events.error(*wrong);
  const Result<std::vector<JudgeRequest>> requests = read_requests(options.requests);
  if (!requests) return events.error(requests.error());
  auto opened = load_trace(options.trace);
  if (!opened) return events.error(opened.error());
  const LoadedTrace& loaded = **opened;
  auto reader = open_trace(options.trace);
  if (!reader) return events.error(reader.error());
  events.hello("judge");

  const EngineError broke = harness_error("judging broke; the images before this one stand", loaded.library->path(),
                                          "Run 'powercut run', and report this if the target is not at fault.");
  return answer_in_child(options.watchdog_seconds, broke, events, [&](Progress& progress) {
    LibraryImages images(loaded, options.model, *atom_policy(options.atoms), options.step_budget, std::move(*reader),
                         &progress);
    const auto wrong =
        judge_images(&images, *requests, options.requests, [&events](const Json& judged) { events.emit(judged); });
    return wrong ? events.error(*wrong) : events.end(kExitOk);
  });
}

}  // namespace

void add_judge_command(CommandLine& app, int& exit_code) {
  add_command<JudgeOptions>(app, exit_code, "judge", "Run recovery and all queries on given crash images of a trace",
                            add_options, judge, Addresses::kFixed);
}

}  // namespace powercut

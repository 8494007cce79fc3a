// `powercut-engine program-judge`: what a program's recovery makes of given crash images of its trace.
// Exit code: 0 when every request was answered, whatever the answers are; 2 for a request that makes no sense, 3 when
// it took too long or a command could not be run.
#include <signal.h>
#include <sys/time.h>

#include <cmath>

#include "checker/replay/program_images.h"
#include "checker/trace/explore_options.h"
#include "engine/commands.h"

namespace powercut {
namespace {

std::atomic<bool> late = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

struct ProgramJudgeOptions {
  ProgramOptions program;
  std::string requests;
};

void add_options(CommandLine& command, ProgramJudgeOptions& options) {
  add_recovery_options(&command, &options.program);
  add_model_options(&command, &options.program.model, &options.program.atoms);
  command.add_option("--jobs", options.program.jobs, "Recoveries at a time")->range(1, 1024);
  command.add_option("--requests", options.requests, "Images, one JSON object a line (reports/EVENTS.md)")->required();
  command.add_option("--budget-seconds", options.program.budget_seconds, "Give up after this time");
}

void be_late_after(double seconds) {
  if (seconds <= 0) return;
  struct sigaction ring{};
  ring.sa_handler = [](int) { late = true; };
  sigaction(SIGALRM, &ring, nullptr);
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>(std::fmod(seconds, 1.0) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

std::optional<EngineError> judge(const ProgramJudgeOptions& options, EventStream& events) {
  const ProgramOptions& program = options.program;
  if (auto wrong = check_model(program.model, program.atoms, "program-judge")) return wrong;
  const Result<std::vector<JudgeRequest>> requests = read_requests(options.requests);
  if (!requests) return requests.error();
  auto opened = LoadedProgram::open(program);
  if (!opened) return opened.error();
  const LoadedProgram& loaded = **opened;
  be_late_after(program.budget_seconds);  // not the guardian, which was started before
  events.end_when_unheard();
  uint64_t observed = 0;
  auto expected = loaded.expected(&late, &observed);
  if (!expected) return expected.error();
  auto pool = loaded.memory();
  if (!pool) return pool.error();
  const Result<std::string> model = loaded.model(program.model);
  if (!model) return model.error();
  auto follower = loaded.follower(*model, program.policy(), *pool);
  if (!follower) return follower.error();
  auto created = loaded.workers(program.jobs, &late);
  if (!created) return created.error();
  events.hello("program-judge");
  ImageWorkers workers(std::move(*created));
  ProgramImages images(loaded, follower->get(), *pool, &workers, &*expected);
  return judge_images(&images, *requests, options.requests, [&events](const Json& judged) { events.emit(judged); });
}

int run(const ProgramJudgeOptions& options, EventStream& events) {
  auto wrong = judge(options, events);
  if (wrong && late) {
    wrong = harness_error("judging took longer than it may", options.requests,
                          "Give it more time, or make recovery faster.");
  }
  return wrong ? events.error(*wrong) : events.end(kExitOk);
}

}  // namespace

void add_program_judge_command(CommandLine& app, int& exit_code) {
  add_command<ProgramJudgeOptions>(app, exit_code, "program-judge",
                                   "Run a program's recovery on given crash images of its trace", add_options, run,
                                   Addresses::kFixed);
}

}  // namespace powercut

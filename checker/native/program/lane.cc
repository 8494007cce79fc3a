#include "checker/native/program/lane.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "checker/native/forkserver/serve.h"

namespace powercut {
namespace {

std::string redirects(const TracePools& pools, const std::vector<std::string>& images) {
  std::string out;
  for (size_t i = 0; i < images.size(); ++i) {
    if (i > 0) out += POWERCUT_FORK_RS;
    out += pools.windows[i].path + POWERCUT_FORK_US + images[i];
  }
  return out;
}

ProgramOutcome outcome_of(ProgramOutcome::Step step, const RunEnd& end) {
  ProgramOutcome out;
  out.step = step;
  out.left_processes = end.left_processes;
  if (end.timed_out) {
    out.kind = ProgramOutcome::Kind::kTimeout;
  } else if (WIFSIGNALED(end.status)) {
    out.kind = ProgramOutcome::Kind::kSignal;
    out.code = WTERMSIG(end.status);
  } else if (WEXITSTATUS(end.status) != 0) {
    out.kind = ProgramOutcome::Kind::kExit;
    out.code = WEXITSTATUS(end.status);
  }
  if (!out.ok()) {
    out.text = end.err.total > 0 ? end.err.text() : end.out.text();
  } else if (step == ProgramOutcome::Step::kDump) {
    out.dumped = end.out.total;
    out.digest = end.out.digest;
    out.text = end.out.text();
  }
  return out;
}

}  // namespace

const char* name_of(ProgramOutcome::Step step) {
  switch (step) {
    case ProgramOutcome::Step::kRecover:
      return "recover";
    case ProgramOutcome::Step::kCheck:
      return "check";
    case ProgramOutcome::Step::kDump:
      return "dump";
  }
  return "?";
}

Result<std::unique_ptr<Lane>> Lane::create(const std::string& folder, const TracePools& pools,
                                           const ProgramCommands& commands, Guardian* guardian,
                                           const std::atomic<bool>* cancel) {
  if (mkdir(folder.c_str(), 0700) != 0) {
    return harness_error(std::string("cannot be made (") + std::strerror(errno) + ")", folder,
                         "Name another folder with --work.");
  }
  std::unique_ptr<Lane> out(new Lane);
  auto files = ImageFiles::create(folder, pools);
  if (!files) return files.error();
  out->files_ = std::move(*files);
  const auto add = [&](ProgramOutcome::Step step, const Command& command) {
    RunServer::Spec spec = {.command = &command,
                            .words = command.words_for(pools, out->files_->paths()),
                            .redirects = redirects(pools, out->files_->paths()),
                            .timeout = commands.timeout,
                            .cancel = cancel};
    out->steps_.push_back({step, &command, std::make_unique<RunServer>(std::move(spec), guardian)});
  };
  add(ProgramOutcome::Step::kRecover, commands.recover);
  if (commands.check) add(ProgramOutcome::Step::kCheck, *commands.check);
  if (commands.dump) add(ProgramOutcome::Step::kDump, *commands.dump);
  return out;
}

Result<ProgramOutcome> Lane::run_steps() {
  ProgramOutcome outcome;
  bool left_processes = false;
  for (Step& step : steps_) {
    auto end = step.server->run();
    if (!end) return end.error();
    left_processes = left_processes || end->left_processes;
    outcome = outcome_of(step.step, *end);
    if (!outcome.ok()) break;
  }
  outcome.left_processes = left_processes;
  return outcome;
}

Result<ProgramOutcome> Lane::run() {
  if (files_->full()) return *files_->full();
  auto outcome = run_steps();
  auto restored = files_->restore();
  if (outcome && !restored) return restored.error();
  return outcome;
}

std::vector<std::string> Lane::notes() const {
  std::vector<std::string> out;
  for (const Step& step : steps_) {
    const std::string why =
        step.server->fell_back() ? "does not come by the C library's start of main" : step.command->plain_because;
    if (why.empty()) continue;
    out.push_back("'" + step.command->given + "' " + why +
                  ": it was started anew for each image, without the fork server, which is slower");
  }
  return out;
}

}  // namespace powercut

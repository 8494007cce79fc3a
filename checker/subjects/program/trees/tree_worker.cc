#include "checker/subjects/program/trees/tree_worker.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

namespace powercut {
namespace {

// Seconds of the clock that repeated runs are told in turn: a recovery that takes the time modulo seven shows.
constexpr int kOtherSeconds = 6;

// Returns the next one of this process's processors, in turn; -1 where they are not known.
int next_processor() {
  static std::atomic<unsigned> workers = 0;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) return -1;
  int left = static_cast<int>(workers++ % static_cast<unsigned>(CPU_COUNT(&allowed)));
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(static_cast<size_t>(processor), &allowed) && left-- == 0) return processor;
  }
  return -1;
}

// Shells tell a signal by 128 and its number.
bool ended_by_bus_error(const ProgramOutcome& outcome) {
  using enum ProgramOutcome::Kind;
  return (outcome.kind == kSignal && outcome.code == SIGBUS) || (outcome.kind == kExit && outcome.code == 128 + SIGBUS);
}

}  // namespace

Result<std::unique_ptr<TreeWorker>> TreeWorker::create(const std::string& work, const std::string& folder,
                                                       const ProgramCommands& commands, Guardian* guardian,
                                                       const std::atomic<bool>* cancel) {
  if (mkdir(work.c_str(), 0700) != 0) {
    return harness_error(std::string("cannot be made (") + std::strerror(errno) + ")", work,
                         "Name another folder with --work.");
  }
  auto server = TreeServer::create(folder, next_processor());
  if (!server) return server.error();
  std::unique_ptr<TreeWorker> out(new TreeWorker);
  out->server_ = std::move(*server);
  out->commands_ = &commands;
  out->guardian_ = guardian;
  out->cancel_ = cancel;
  out->clock_ = work + "/clock";
  if (guardian->files() != nullptr) out->place_ = guardian->files()->add_tree(out->server_->mount().folder());
  for (const bool elsewhere : {false, true}) {
    out->steps_[0][elsewhere] = out->make_steps(elsewhere, false);
    if (commands.continuation) out->steps_[1][elsewhere] = out->make_steps(elsewhere, true);
  }
  return out;
}

std::vector<ServedStep> TreeWorker::make_steps(bool elsewhere, bool continued) const {
  std::vector<ServedStep> out;
  for (const ProgramStep& step : steps_of(*commands_, continued)) {
    const Command& command = command_of(*commands_, step);
    RunServer::Spec spec = {.command = &command,
                            .words = command.words,
                            .redirects = {},
                            .clock = clock_,
                            .timeout = commands_->timeout,
                            .prefix = {},
                            .environment = {},
                            .elsewhere = elsewhere,
                            .place = place_,
                            .tree = &server_->mount(),
                            .cancel = cancel_};
    out.push_back({step, &command, false, std::make_unique<RunServer>(std::move(spec), guardian_)});
  }
  return out;
}

void TreeWorker::shift_clock(int seconds) {
  if (seconds == clock_shift_ || access(clock_.c_str(), F_OK) != 0) return;
  std::ofstream file(clock_, std::ios::trunc);
  if (seconds != 0) file << seconds;
  clock_shift_ = seconds;
}

Result<TreeWorker::Ran> TreeWorker::run(const ImageTree& tree, const Options& options) {
  std::vector<ServedStep>& steps = steps_[options.continued][options.elsewhere];
  if (options.elsewhere) last_shift_ = last_shift_ % kOtherSeconds + 1;
  shift_clock(options.elsewhere ? last_shift_ : 0);
  const TreeServer::Asked asked = {
      .keep_changes = options.keep_changes, .first_new = options.first_new, .elsewhere = options.elsewhere};
  const double second = second_timeout(commands_->timeout);
  for (double timeout = commands_->timeout;; timeout = second) {
    // A program that is started meanwhile finds the tree, and what it sees or changes before its run is forgotten.
    server_->begin(tree, asked);
    const uint64_t before = server_->mount().requests();
    bool ran = false;
    if (auto wrong = start_steps(steps, &ran)) return *wrong;
    if (ran || server_->mount().requests() != before) server_->begin(tree, asked);
    if (guardian_->files() != nullptr) guardian_->files()->begin(place_);
    size_t of_recovery = 0, kept = 0;
    auto outcome = run_steps(steps, *commands_, timeout, [&](const ServedStep& step, const RunEnd&) {
      const bool recovers = step.step.kind == ProgramStep::Kind::kRecover;
      if (recovers) of_recovery = server_->changes().size();
      if (recovers || step.step.kind == ProgramStep::Kind::kContinue) kept = server_->changes().size();
    });
    if (!outcome) return outcome.error();
    if (outcome->kind == ProgramOutcome::Kind::kTimeout && timeout < second) continue;
    if (ended_by_bus_error(*outcome)) server_->ended_behind_a_file();
    Ran out{std::move(*outcome), server_->observations(), server_->changes(), of_recovery};
    out.changes.resize(kept);
    return out;
  }
}

}  // namespace powercut

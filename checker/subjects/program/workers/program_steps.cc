#include "checker/subjects/program/workers/program_steps.h"

#include <sys/wait.h>

namespace powercut {
namespace {

// A second run is given so many times as long, but no more than so many seconds, or else the usual time.
constexpr double kSecondLonger = 4, kMostSecond = 10;

constexpr size_t kLeastKept = 2048;

// Bytes that are kept of each output where so many are printed. Outcomes are kept for the whole run, so many probes
// take no more memory than one dump.
size_t kept_of_each(size_t printing) {
  return std::max<size_t>(kLeastKept, POWERCUT_FORK_KEPT / std::max<size_t>(printing, 1));
}

// Adds a step's end to the outcome of the steps before.
void add_step(const ProgramStep& step, const RunEnd& end, size_t kept, ProgramOutcome* out) {
  out->step = step;
  out->left_processes = out->left_processes || end.left_processes;
  if (end.timed_out) {
    out->kind = ProgramOutcome::Kind::kTimeout;
  } else if (WIFSIGNALED(end.status)) {
    out->kind = ProgramOutcome::Kind::kSignal;
    out->code = WTERMSIG(end.status);
  } else if (WEXITSTATUS(end.status) != 0) {
    out->kind = ProgramOutcome::Kind::kExit;
    out->code = WEXITSTATUS(end.status);
  }
  if (!out->ok()) {
    out->said = end.err.total > 0 ? end.err.text() : end.out.text();
  } else if (step.kind == ProgramStep::Kind::kDump || step.kind == ProgramStep::Kind::kProbe) {
    out->printed.push_back({step, end.out.total, end.out.digest, end.out.lines, end.out.text(kept)});
  }
}

}  // namespace

std::string name_of(const ProgramStep& step) {
  switch (step.kind) {
    case ProgramStep::Kind::kRecover:
      return "recover";
    case ProgramStep::Kind::kContinue:
      return "continue";
    case ProgramStep::Kind::kCheck:
      return "check";
    case ProgramStep::Kind::kDump:
      return "dump";
    case ProgramStep::Kind::kProbe:
      return "probe " + std::to_string(step.probe);
  }
  return "?";
}

const Command& command_of(const ProgramCommands& commands, const ProgramStep& step) {
  switch (step.kind) {
    case ProgramStep::Kind::kRecover:
      break;
    case ProgramStep::Kind::kContinue:
      return *commands.continuation;
    case ProgramStep::Kind::kCheck:
      return *commands.check;
    case ProgramStep::Kind::kDump:
      return *commands.dump;
    case ProgramStep::Kind::kProbe:
      return commands.probes[step.probe - 1];
  }
  return commands.recover;
}

bool ProgramOutcome::alike(const ProgramOutcome& other, bool ordered) const {
  return ends_like(other) && std::ranges::equal(printed, other.printed, [&](const Printed& a, const Printed& b) {
           return a.step == b.step && a.alike(b, ordered);
         });
}

double second_timeout(double timeout) { return std::max(timeout, std::min(timeout * kSecondLonger, kMostSecond)); }

std::vector<ProgramStep> steps_of(const ProgramCommands& commands, bool continued) {
  std::vector<ProgramStep> out = {{ProgramStep::Kind::kRecover}};
  if (continued) out.push_back({ProgramStep::Kind::kContinue});
  if (commands.check) out.push_back({ProgramStep::Kind::kCheck});
  if (commands.dump) out.push_back({ProgramStep::Kind::kDump});
  for (uint32_t i = 0; i < commands.probes.size(); ++i) out.push_back({ProgramStep::Kind::kProbe, i + 1});
  return out;
}

std::optional<EngineError> start_steps(std::vector<ServedStep>& steps, bool* ran) {
  for (ServedStep& step : steps) {
    const bool before = step.server->fell_back();
    if (auto wrong = step.server->start()) return wrong;
    *ran = *ran || step.server->fell_back() != before;
  }
  return std::nullopt;
}

Result<ProgramOutcome> run_steps(std::vector<ServedStep>& steps, const ProgramCommands& commands, double timeout,
                                 const AfterStep& after) {
  ProgramOutcome outcome;
  const size_t kept = kept_of_each(commands.printing());
  for (ServedStep& step : steps) {
    auto end = step.server->run(timeout);
    if (!end) return end.error();
    after(step, *end);
    add_step(step.step, *end, kept, &outcome);
    if (!outcome.ok()) break;
  }
  return outcome;
}

std::vector<std::string> notes_on(const std::vector<ServedStep>& steps) {
  std::vector<std::string> out;
  for (const ServedStep& step : steps) {
    const std::string why =
        step.server->fell_back() ? "does not come by the C library's start of main" : step.command->plain_because;
    if (why.empty()) continue;
    const std::string note = "'" + step.command->given + "' " + why +
                             ": it was started anew for each image, without the fork server, which is slower";
    if (std::ranges::find(out, note) == out.end()) out.push_back(note);
  }
  return out;
}

}  // namespace powercut

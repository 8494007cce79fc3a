#include "checker/subjects/program/outputs/judge.h"

#include "base/signal_name.h"

namespace powercut {
namespace {

// "probe 2 ('./prog put {image} 9')"
std::string probe_text(const ProgramStep& step, const ProgramCommands& commands) {
  return name_of(step) + " ('" + command_of(commands, step).text() + "')";
}

std::string noun(const ProgramStep& step, const ProgramCommands& commands) {
  switch (step.kind) {
    case ProgramStep::Kind::kRecover:
      return "Recovery";
    case ProgramStep::Kind::kContinue:
      return "The continuation, after recovery,";
    case ProgramStep::Kind::kCheck:
      return "The consistency checker, after recovery,";
    case ProgramStep::Kind::kDump:
      return "The dump, after recovery,";
    case ProgramStep::Kind::kProbe:
      return "P" + probe_text(step, commands).substr(1) + ", after recovery,";
  }
  return "?";
}

// Returns the step's part in the kind of a violation. The number of a probe makes no difference, since a lost store may
// show in several probes.
std::string kind_of(const ProgramStep& step) {
  return step.kind == ProgramStep::Kind::kProbe ? "probe" : name_of(step);
}

std::string operations_text(uint64_t count) {
  return "after " + std::to_string(count) + (count == 1 ? " operation" : " operations");
}

// A step that did not end well.
ProgramViolation failure(const ProgramOutcome& outcome, const ProgramCommands& commands) {
  ProgramViolation out;
  out.step = outcome.step;
  const std::string step = kind_of(outcome.step), who = noun(outcome.step, commands);
  out.invariant = "recovery-failed";
  out.expected = {"exit status 0"};
  if (outcome.kind == ProgramOutcome::Kind::kTimeout) {
    out.invariant = "recovery-hang";
    out.kind = step + "/timeout";
    out.found = "no end within the time limit";
    out.message = who + " does not end.";
  } else if (outcome.kind == ProgramOutcome::Kind::kSignal) {
    out.kind = step + "/" + signal_name(outcome.code);
    out.found = "died of " + signal_name(outcome.code);
    out.message = who + " dies of " + signal_name(outcome.code) + ".";
  } else {
    const bool refuses =
        outcome.step.kind == ProgramStep::Kind::kCheck || outcome.step.kind == ProgramStep::Kind::kProbe;
    if (refuses) out.invariant = "structure";
    out.kind = step + "/exit " + std::to_string(outcome.code);
    out.found = "exit status " + std::to_string(outcome.code);
    out.message = who + " ends with exit status " + std::to_string(outcome.code) + ".";
  }
  if (const std::string said = shortened(outcome.said, kShown); !said.empty()) out.message += " It says: " + said;
  return out;
}

// Returns at most three of the names, and the number of the others.
std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMost ? out + " and " + std::to_string(names.size() - kMost) + " more" : out;
}

// A step that printed what none of `right` has, which have all printed the same as the outcome before.
ProgramViolation wrong_output(const ProgramOutcome& outcome, size_t at, const std::vector<const ProgramOutcome*>& right,
                              const ExpectedOutputs& expected, const Operations& operations,
                              const ProgramCommands& commands) {
  ProgramViolation out;
  const ProgramOutcome::Printed& found = outcome.printed[at];
  out.step = found.step;
  out.of_output = true;
  for (const ProgramOutcome* one : right) out.expected.push_back(shortened(one->printed[at].text, kShown));
  out.found = shortened(found.text, kShown);
  const bool dump = found.step.kind == ProgramStep::Kind::kDump;
  out.message = "After recovery the " + (dump ? "dump" : "output of " + probe_text(found.step, commands)) + " is that ";
  const std::vector<std::string> reads = expected.reads_of_lost(operations, outcome, at, commands.ordered);
  const std::vector<std::string> lost =
      reads.empty() ? expected.lost(operations, outcome, at, commands.ordered) : std::vector<std::string>{};
  if (!reads.empty()) {
    out.invariant = "unpersisted-read";
    out.kind = kind_of(found.step) + "/read";
    out.message += "of no order in which " + list_of(reads) + " gives the recorded answer, whose data is lost: ";
  } else if (!lost.empty()) {
    out.invariant = "lost-item";
    out.kind = kind_of(found.step) + "/earlier";
    out.message += "of the operations without " + list_of(lost) + ", which had ended: ";
  } else if (const auto earlier = expected.earlier(operations, outcome, at, commands.ordered)) {
    out.invariant = "lost-item";
    out.kind = kind_of(found.step) + "/earlier";
    out.message +=
        operations_text(*earlier) + ", but " + std::to_string(operations.settled_by().value_or(0) + 1) + " had ended: ";
  } else {
    out.invariant = "structure";
    out.kind = kind_of(found.step) + "/other";
    out.message +=
        expected.has_orders_of(operations) ? "of no order of the operations: " : "of no prefix of the operations: ";
  }
  // One operation may be in flight: what is wrong is told against the state that differs least.
  for (size_t i = 0; i < right.size(); ++i) {
    OutputDifference difference(right[i]->printed[at].text, found.text, commands.ordered);
    if (i != 0 && difference.size() >= out.difference->size()) continue;
    out.difference = std::move(difference);
    out.nearest = i;
  }
  out.message += out.difference->sentence() + ".";
  return out;
}

}  // namespace

std::string outcome_difference(const ProgramOutcome& once, const ProgramOutcome& again, bool ordered) {
  constexpr size_t kMostLines = 3;
  const auto end = [](const ProgramOutcome& outcome) {
    const std::string who = name_of(outcome.step);
    const std::string said = shortened(outcome.said, kShown / 4);
    switch (outcome.kind) {
      case ProgramOutcome::Kind::kOk:
        return who + " succeeded";
      case ProgramOutcome::Kind::kExit:
        return who + " ended with exit status " + std::to_string(outcome.code) +
               (said.empty() ? "" : ", saying " + said);
      case ProgramOutcome::Kind::kSignal:
        return who + " died of " + signal_name(outcome.code);
      case ProgramOutcome::Kind::kTimeout:
        return who + " did not end";
    }
    return who;
  };
  for (size_t i = 0; i < std::min(once.printed.size(), again.printed.size()); ++i) {
    const ProgramOutcome::Printed &left = once.printed[i], &right = again.printed[i];
    if (left.step == right.step && left.alike(right, ordered)) continue;
    const std::string who = name_of(left.step);
    if (left.lines == right.lines) return who + " printed the same lines in another order";
    const OutputDifference difference(left.text, right.text, ordered);
    const auto only = [&difference](char mark) {
      std::string out;
      size_t lines = 0;
      for (const OutputLine& line : difference.lines()) {
        if (line.mark != mark || ++lines > kMostLines) continue;
        out += (out.empty() ? "'" : ", '") + shortened(line.text, kShown / 4) + "'";
      }
      if (lines > kMostLines) out += " and " + std::to_string(lines - kMostLines) + " more";
      return out.empty() ? std::string("nothing") : out;
    };
    if (difference.size() == 0) {
      return who + " printed " + std::to_string(left.total) + " bytes, then " + std::to_string(right.total) +
             ", which differ beyond the part that was kept";
    }
    return "only the first time " + who + " printed " + only('-') + "; only the second time " + only('+');
  }
  return end(once) + "; then " + end(again);
}

std::optional<ProgramViolation> judge(const ProgramOutcome& outcome, const std::vector<const ProgramOutcome*>& legal,
                                      const ExpectedOutputs& expected, const Operations& operations,
                                      const ProgramCommands& commands) {
  std::vector<const ProgramOutcome*> right = legal;  // that have printed the same so far
  for (size_t i = 0; !right.empty() && i < outcome.printed.size(); ++i) {
    std::vector<const ProgramOutcome*> still;
    for (const ProgramOutcome* one : right) {
      // If a step fails with nothing lost, its expected output is not known: any output is right.
      if (one->printed.size() <= i || one->printed[i].alike(outcome.printed[i], commands.ordered)) still.push_back(one);
    }
    if (still.empty()) return wrong_output(outcome, i, right, expected, operations, commands);
    right = std::move(still);
  }
  if (!outcome.ok()) return failure(outcome, commands);
  return std::nullopt;
}

}  // namespace powercut

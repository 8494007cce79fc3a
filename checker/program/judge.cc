#include "checker/program/judge.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <sstream>

#include "base/signal_name.h"

namespace powercut {
namespace {

const char* noun(ProgramOutcome::Step step) {
  switch (step) {
    case ProgramOutcome::Step::kRecover:
      return "Recovery";
    case ProgramOutcome::Step::kCheck:
      return "The consistency checker, after recovery,";
    case ProgramOutcome::Step::kDump:
      return "The dump, after recovery,";
  }
  return "?";
}

std::string operations_text(uint64_t count) {
  return "after " + std::to_string(count) + (count == 1 ? " operation" : " operations");
}

}  // namespace

std::string shortened(const std::string& text, size_t most) {
  std::string out = text;
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  if (out.size() <= most) return out;
  const size_t half = most / 2;
  return out.substr(0, half) + " … " + out.substr(out.size() - half);
}

std::string first_difference(const std::string& expected, const std::string& found) {
  size_t a = 0, b = 0, line = 1;
  const auto next = [](const std::string& text, size_t* at) {
    const size_t end = std::min(text.find('\n', *at), text.size());
    std::string out = text.substr(*at, end - *at);
    *at = std::min(end + 1, text.size());
    return out;
  };
  for (; a < expected.size() || b < found.size(); ++line) {
    const bool no_more_expected = a >= expected.size(), no_more_found = b >= found.size();
    const std::string left = next(expected, &a), right = next(found, &b);
    if (left == right && no_more_expected == no_more_found) continue;
    return "line " + std::to_string(line) + ": " +
           (no_more_found ? "nothing" : "'" + shortened(right, kShown / 4) + "'") + " instead of " +
           (no_more_expected ? "the end" : "'" + shortened(left, kShown / 4) + "'");
  }
  return "no difference in the part that was kept";
}

std::string missing_lines(const std::string& expected, const std::string& found) {
  const auto lines = [](const std::string& text) {
    std::multiset<std::string> out;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) out.insert(line);
    return out;
  };
  const std::multiset<std::string> left = lines(expected), right = lines(found);
  const auto only = [](const std::multiset<std::string>& in, const std::multiset<std::string>& not_in) {
    std::vector<std::string> out;
    std::ranges::set_difference(in, not_in, std::back_inserter(out));
    return out.empty() ? std::string() : "'" + shortened(out.front(), kShown / 4) + "'";
  };
  const std::string missing = only(left, right), extra = only(right, left);
  if (missing.empty() && extra.empty()) return "no difference in the part that was kept";
  if (missing.empty()) return extra + " is too much";
  return missing + " is missing" + (extra.empty() ? "" : ", and there is " + extra);
}

std::optional<ProgramViolation> judge(const ProgramOutcome& outcome, const std::vector<const ProgramOutcome*>& legal,
                                      const ExpectedOutputs& expected, const Operations& operations, bool ordered) {
  using Kind = ProgramOutcome::Kind;
  ProgramViolation out;
  const std::string step = name_of(outcome.step);
  if (!outcome.ok()) {
    const std::string who = noun(outcome.step);
    out.invariant = "recovery-failed";
    out.expected = {"exit status 0"};
    if (outcome.kind == Kind::kTimeout) {
      out.invariant = "recovery-hang";
      out.kind = step + "/timeout";
      out.found = "no end within the time limit";
      out.message = who + " does not end.";
    } else if (outcome.kind == Kind::kSignal) {
      out.kind = step + "/" + signal_name(outcome.code);
      out.found = "died of " + signal_name(outcome.code);
      out.message = who + " dies of " + signal_name(outcome.code) + ".";
    } else {
      if (outcome.step == ProgramOutcome::Step::kCheck) out.invariant = "structure";
      out.kind = step + "/exit " + std::to_string(outcome.code);
      out.found = "exit status " + std::to_string(outcome.code);
      out.message = who + " ends with exit status " + std::to_string(outcome.code) + ".";
    }
    if (const std::string said = shortened(outcome.text, kShown); !said.empty()) out.message += " It says: " + said;
    return out;
  }
  if (legal.empty()) return std::nullopt;
  for (const ProgramOutcome* right : legal) {
    if (right->alike(outcome, ordered)) return std::nullopt;
  }
  for (const ProgramOutcome* right : legal) out.expected.push_back(shortened(right->text, kShown));
  out.found = shortened(outcome.text, kShown);
  if (const auto earlier = expected.earlier(operations, outcome, ordered)) {
    out.invariant = "lost-item";
    out.kind = "dump/earlier";
    out.message = "After recovery the dump is that " + operations_text(*earlier) + ", but " +
                  std::to_string(operations.settled_by().value_or(0) + 1) + " had ended: ";
  } else {
    out.invariant = "structure";
    out.kind = "dump/other";
    out.message = "After recovery the dump is that of no prefix of the operations: ";
  }
  const std::string& right = legal.back()->text;
  out.message += (ordered ? first_difference(right, outcome.text) : missing_lines(right, outcome.text)) + ".";
  return out;
}

}  // namespace powercut

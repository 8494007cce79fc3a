#include "checker/subjects/program/outputs/finding.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/user_file.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

constexpr size_t kMostOutput = 4096;

// Returns the key as text if all its bytes can be printed.
std::string key_text(const std::string& key) {
  for (const char byte : key) {
    if (byte < 0x20 || byte == 0x7f) return describe_value(key);
  }
  return key;
}

// If the program's output has acknowledged the operation, its kind is "ack" and says no more.
Finding::Operation operation_of(const Operations& operations, bool acknowledged) {
  if (!operations.current()) return {.kind = "run"};
  const MarkedOperation& operation = *operations.current();
  Finding::Operation out = {.index = operation.index,
                            .kind = acknowledged ? "ack" : name_of(operation.kind),
                            .text = operation.text,
                            .in_flight = !operations.in_flight().empty()};
  if (!operation.key.empty()) out.key = key_text(operation.key);
  return out;
}

// The lines that differ, and some of those that do not, with how many of each are left out.
Json difference_json(const ProgramViolation& violation) {
  constexpr size_t kMostChanged = 40, kMostKept = 12, kLine = 160;
  Json lines = Json::array();
  size_t changed = 0, kept = 0;
  for (const OutputLine& line : violation.difference->lines()) {
    size_t& count = line.mark == ' ' ? kept : changed;
    if (++count > (line.mark == ' ' ? kMostKept : kMostChanged)) continue;
    lines.push_back({{"mark", std::string(1, line.mark)}, {"text", shortened(line.text, kLine)}});
  }
  return {{"nearest", violation.nearest},
          {"lines", lines},
          {"kept_left_out", kept - std::min(kept, kMostKept)},
          {"changed_left_out", changed - std::min(changed, kMostChanged)}};
}

// Where a process of its own died is not known.
std::optional<Finding::Fault> fault_of(const ProgramOutcome& outcome) {
  const bool died = outcome.kind == ProgramOutcome::Kind::kSignal;
  if (!died && outcome.kind != ProgramOutcome::Kind::kTimeout) return std::nullopt;
  return Finding::Fault{.signal = died ? outcome.code : 0, .text = shortened(outcome.said, kMostOutput), .stack = {}};
}

}  // namespace

bool is_acknowledged(const Json& metadata) {
  return metadata.is_object() && metadata.contains("program") &&
         !metadata["program"].value("ack", std::string()).empty();
}

std::string query_text(const ProgramStep& step, const ProgramCommands& commands) {
  return name_of(step) + ": " + command_of(commands, step).text();
}

Finding finding_of(const ProgramViolation& violation, const ProgramOutcome& outcome,
                   const std::vector<Image::Line>& lines, const Operations& operations, const ProgramCommands& commands,
                   bool needs_power_cut, bool acknowledged) {
  Finding out;
  out.key = "program/" + violation.invariant + "/" + violation.kind;
  out.message = violation.message;
  if (!needs_power_cut) {
    const std::string operation = name_of(operations.current()->kind);
    out.key_end = "/no power cut/" + operation;
    out.message += " No power cut needed: with every store durable, it is the same after " + operation + ".";
  }
  out.invariant = violation.invariant;
  out.needs_power_cut = needs_power_cut;
  out.operation = operation_of(operations, acknowledged);
  out.query = {.kind = "program", .text = query_text(violation.step, commands)};
  out.expected = violation.expected;
  out.found = violation.found;
  if (violation.difference) out.difference = difference_json(violation);
  if (!violation.of_output) out.fault = fault_of(outcome);
  out.image = lines;
  const std::string step = name_of(violation.step);
  for (const std::string& legal : violation.expected) out.legal.emplace_back(step, legal);
  out.actual = {{step, violation.found}};
  out.operation_name = operation_name;
  return out;
}

std::string operation_name(const Event& begin) {
  const std::string key = key_text({reinterpret_cast<const char*>(begin.key.data()), begin.key.size()});
  const std::string argument = key.empty() ? std::string(begin.text) : key;
  return name_of(static_cast<OpKind>(begin.code)) + (argument.empty() ? "" : "(" + argument + ")");
}

Finding finding_of(const TraceFollower::FoundTrouble& trouble, const Operations& operations,
                   const TraceFollower& follower) {
  // Where each thread was last tells one deadlock from another.
  std::map<uint32_t, std::string> places;
  for (const KeptEvent& kept : follower.schedule()) {
    const Event event = kept.view();
    const auto frames = follower.reader().stack(event.stack);
    if (!frames.empty())
      places[event.thread] = std::to_string(frames[0].module) + "+" + std::to_string(frames[0].offset);
  }
  const bool died = trouble.kind == Trouble::kDied;
  Finding out;
  out.invariant = died ? "unusable" : name_of(trouble.kind);
  out.key = "program/" + out.invariant + "/" + trouble.text;
  for (const auto& [thread, place] : places) out.key += "/" + std::to_string(thread) + ":" + place;
  if (died) out.underlying = name_of(trouble.kind);
  out.message = trouble.text;
  out.needs_power_cut = false;
  out.operation = operation_of(operations, is_acknowledged(parse_json(follower.reader().metadata())));
  out.query = {.kind = "schedule", .text = "the schedule of its threads"};
  out.expected = {"every schedule comes to its end"};
  out.found = died ? "a program that died" : std::string("a ") + name_of(trouble.kind);
  out.operation_name = operation_name;
  return out;
}

}  // namespace powercut

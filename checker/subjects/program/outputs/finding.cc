#include "checker/subjects/program/outputs/finding.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/user_file.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

constexpr size_t kMostOutput = 4096;

// A key as text where it is one.
std::string key_text(const std::string& key) {
  for (const char byte : key) {
    if (byte < 0x20 || byte == 0x7f) return describe_value(key);
  }
  return key;
}

// What an operation is called: of those that the program's output has acknowledged, the kind says no more than that.
std::string kind_name(const MarkedOperation& operation, const TraceReader& reader) {
  const Json metadata = parse_json(reader.metadata());
  const bool acknowledged =
      metadata.is_object() && metadata.contains("program") && !metadata["program"].value("ack", std::string()).empty();
  return acknowledged ? "ack" : name_of(operation.kind);
}

Json operation_json(const Operations& operations, const TraceReader& reader) {
  if (!operations.current()) {
    return {{"index", 0}, {"kind", "run"}, {"key", nullptr}, {"text", ""}, {"in_flight", true}};
  }
  const MarkedOperation& operation = *operations.current();
  return {{"index", operation.index},
          {"kind", kind_name(operation, reader)},
          {"key", operation.key.empty() ? Json(nullptr) : Json(key_text(operation.key))},
          {"text", operation.text},
          {"in_flight", !operations.in_flight().empty()}};
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

Json fault_json(const ProgramOutcome& outcome) {
  if (outcome.kind != ProgramOutcome::Kind::kSignal && outcome.kind != ProgramOutcome::Kind::kTimeout) return nullptr;
  const char* signal = outcome.kind == ProgramOutcome::Kind::kSignal ? sigabbrev_np(outcome.code) : nullptr;
  return {{"signal", signal == nullptr ? Json(nullptr) : Json(std::string("SIG") + signal)},
          {"address", "0x0"},  // of another process: not known
          {"text", shortened(outcome.said, kMostOutput)},
          {"stack", Json::array()}};
}

}  // namespace

std::string query_text(const ProgramStep& step, const ProgramCommands& commands) {
  return name_of(step) + ": " + command_of(commands, step).text();
}

Json program_finding(const ProgramViolation& violation, const ProgramOutcome& outcome,
                     const std::vector<Image::Line>& lines, const Operations& operations,
                     const ProgramCommands& commands, bool needs_power_cut, const FindingContext& context) {
  StoreFates fates;
  for (const Image::Line& line : lines) add_line(line, context, &fates);
  std::string key = "program/" + violation.invariant + "/" + violation.kind;
  for (const std::string& site : fates.decisive) key += "/" + site;
  std::string message = violation.message;
  if (!needs_power_cut) {
    const std::string operation = name_of(operations.current()->kind);
    key += "/no power cut/" + operation;
    message += " No power cut needed: with every store durable, it is the same after " + operation + ".";
  }

  Json event = {{"event", "finding"}, {"key", finding_key(key)}, {"invariant", violation.invariant}};
  event["underlying"] = nullptr;
  event["message"] = message;
  event["needs_power_cut"] = needs_power_cut;
  event["operation"] = operation_json(operations, context.reader);
  event["query"] = {
      {"kind", "program"}, {"key", nullptr}, {"region", nullptr}, {"text", query_text(violation.step, commands)}};
  event["expected"] = violation.expected;
  event["found"] = violation.found;
  if (violation.difference) event["difference"] = difference_json(violation);
  event["crash_point"] = {{"index", context.instant.ordinal},
                          {"event", context.instant.event},
                          {"when", context.instant.when},
                          {"depth", 0},
                          {"nested_event", nullptr}};
  event["fault"] = violation.of_output ? Json(nullptr) : fault_json(outcome);
  event["image"] = image_json(lines, context, true);
  event["nested_image"] = Json::array();
  event["stores"] = fates.stores;
  event["timeline"] = timeline_json(lines, context);
  Json expected = Json::array(), actual = Json::array();
  const std::string step = name_of(violation.step);
  for (const std::string& legal : violation.expected) expected.push_back(Json::array({step, legal}));
  actual.push_back(Json::array({step, violation.found}));
  event["contents"] = {{"expected", expected}, {"actual", actual}};
  return event;
}

std::string operation_name(const Event& begin) {
  const std::string key = key_text({reinterpret_cast<const char*>(begin.key.data()), begin.key.size()});
  const std::string argument = key.empty() ? std::string(begin.text) : key;
  return name_of(static_cast<OpKind>(begin.code)) + (argument.empty() ? "" : "(" + argument + ")");
}

Json trouble_finding(const TraceFollower::FoundTrouble& trouble, const Operations& operations,
                     const std::vector<KeptEvent>& schedule, const FindingContext& context) {
  // Where each thread was last tells one deadlock from another.
  std::map<uint32_t, std::string> places;
  for (const KeptEvent& kept : schedule) {
    const Event event = kept.view();
    const auto frames = context.reader.stack(event.stack);
    if (!frames.empty())
      places[event.thread] = std::to_string(frames[0].module) + "+" + std::to_string(frames[0].offset);
  }
  const std::string invariant = trouble.kind == Trouble::kDied ? "unusable" : name_of(trouble.kind);
  std::string key = "program/" + invariant + "/" + trouble.text;
  for (const auto& [thread, place] : places) key += "/" + std::to_string(thread) + ":" + place;
  const std::string expected = "every schedule comes to its end";
  const Json event = {
      {"event", "finding"},
      {"key", finding_key(key)},
      {"invariant", invariant},
      {"underlying", trouble.kind == Trouble::kDied ? Json(name_of(trouble.kind)) : Json(nullptr)},
      {"message", trouble.text},
      {"needs_power_cut", false},
      {"operation", operation_json(operations, context.reader)},
      {"query", {{"kind", "schedule"}, {"key", nullptr}, {"region", nullptr}, {"text", "the schedule of its threads"}}},
      {"expected", {expected}},
      {"found", trouble.kind == Trouble::kDied ? "a program that died" : std::string("a ") + name_of(trouble.kind)},
      {"crash_point",
       {{"index", context.instant.ordinal},
        {"event", context.instant.event},
        {"when", context.instant.when},
        {"depth", 0},
        {"nested_event", nullptr}}},
      {"fault", nullptr},
      {"image", Json::array()},
      {"nested_image", Json::array()},
      {"stores", Json::array()},
      {"timeline", timeline_json({}, context)},
      {"contents", {{"expected", Json::array()}, {"actual", Json::array()}}}};
  return event;
}

}  // namespace powercut

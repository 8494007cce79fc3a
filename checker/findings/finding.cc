#include "checker/findings/finding.h"

#include <cstring>

#include "checker/findings/finding_parts.h"

namespace powercut {
namespace {

Json nested_json(const Exposure& exposure, const FindingContext& context) {
  Json out = Json::array();
  for (size_t d = 1; d < exposure.image.levels.size(); ++d) {
    const Image::Nested& nested = exposure.image.nested[d - 1];
    Json stores = Json::array();
    for (const NestedStore& store : nested.stores) {
      stores.push_back({{"offset", store.offset},
                        {"size", store.size},
                        {"stack", frames_json(context.frames->resolve(store.stack))}});
    }
    out.push_back({{"depth", d},
                   {"after_return", nested.after_return},
                   {"recovery_stores", stores},
                   {"lines", image_json(exposure.image.levels[d], context, false)}});
  }
  return out;
}

// What a finding that needs no power cut says of it.
std::string without_cut(const History& history) {
  const OperationInfo& operation = history.operation();
  const std::string argument = operation.has_key ? name_of(history.keys()[operation.key]) : operation.text;
  return std::string("No power cut needed: with every store durable, it is the same after ") + name_of(operation.kind) +
         (argument.empty() ? "" : "(" + argument + ")") + ".";
}

}  // namespace

Json modules_event(const std::vector<TraceModule>& modules) {
  Json list = Json::array();
  for (const TraceModule& module : modules) list.push_back({{"path", module.path}, {"build_id", module.build_id}});
  return {{"event", "modules"}, {"modules", list}};
}

Json finding_event(const Exposure& exposure, const FindingContext& context) {
  const History& history = context.history;
  const OperationInfo& operation = history.operation();
  const QueryKind kind = kind_of(exposure.query);
  const bool by_key = asks_key(kind);
  const bool by_region = kind == QueryKind::kWalk || kind == QueryKind::kVerify;

  StoreFates fates;
  for (const Image::Line& line : exposure.image.levels[0]) add_line(line, context, &fates);

  const std::vector<Frame> fault = context.frames->resolve(exposure.outcome.stack);
  std::string key = exposure.violation.invariant + "/" + exposure.underlying + "/" +
                    std::to_string(static_cast<int>(operation.kind)) + operation.text + "/" + name_of(kind);
  if (!exposure.needs_power_cut) key += "/functional";
  for (const std::string& site : fates.decisive) key += "/" + site;
  if (!fault.empty()) key += "/" + std::to_string(fault[0].module) + ":" + std::to_string(fault[0].offset);

  Json event = {{"event", "finding"}, {"key", finding_key(key)}, {"invariant", exposure.violation.invariant}};
  event["underlying"] = exposure.underlying.empty() ? Json(nullptr) : Json(exposure.underlying);
  event["message"] = exposure.needs_power_cut || !exposure.asked
                         ? exposure.violation.message
                         : exposure.violation.message + " " + without_cut(history);
  event["needs_power_cut"] = exposure.needs_power_cut;
  event["operation"] = {{"index", operation.index},
                        {"kind", name_of(operation.kind)},
                        {"key", operation.has_key ? Json(name_of(history.keys()[operation.key])) : Json(nullptr)},
                        {"text", operation.text},
                        {"in_flight", history.in_flight()}};
  const std::string asked = exposure.asked ? describe_query(history, exposure.query) : "the schedule of its threads";
  event["query"] = {{"kind", exposure.asked ? name_of(kind) : "schedule"},
                    {"key", by_key ? Json(name_of(history.keys()[argument_of(exposure.query)])) : Json(nullptr)},
                    {"region", by_region ? Json(argument_of(exposure.query)) : Json(nullptr)},
                    {"text", asked}};
  event["expected"] = exposure.violation.expected;
  event["found"] = exposure.violation.found;
  event["crash_point"] = {
      {"index", context.instant.ordinal},
      {"event", context.instant.event},
      {"when", context.instant.when},
      {"depth", exposure.depth},
      {"nested_event", exposure.image.nested.empty() ? Json(nullptr) : Json(exposure.image.nested.back().stores_seen)}};
  if (exposure.outcome.returned()) {
    event["fault"] = nullptr;
  } else {
    char address[32];
    std::snprintf(address, sizeof address, "0x%lx", exposure.outcome.address);
    const char* signal = exposure.outcome.signal == 0 ? nullptr : sigabbrev_np(exposure.outcome.signal);
    event["fault"] = {{"signal", signal == nullptr ? Json(nullptr) : Json(std::string("SIG") + signal)},
                      {"address", address},
                      {"text", exposure.outcome.text},
                      {"stack", frames_json(fault)}};
  }
  event["image"] = image_json(exposure.image.levels[0], context, true);
  event["nested_image"] = nested_json(exposure, context);
  event["stores"] = fates.stores;
  event["timeline"] = timeline_json(exposure.image.levels[0], context);
  Json expected = Json::array(), actual = Json::array();
  if (by_key) {
    const KeyHistory& history_of_key = history.keys()[argument_of(exposure.query)];
    for (const std::string& state : legal_states(history_of_key)) expected.push_back({name_of(history_of_key), state});
    actual.push_back({name_of(history_of_key), exposure.violation.found});
  } else {
    for (const std::string& state : exposure.violation.expected) expected.push_back({asked, state});
    actual.push_back({asked, exposure.violation.found});
  }
  event["contents"] = {{"expected", expected}, {"actual", actual}};
  return event;
}

}  // namespace powercut

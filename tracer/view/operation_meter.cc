#include "tracer/view/operation_meter.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/json_field.h"
#include "base/user_file.h"
#include "powercut/target.h"
#include "tracer/format/event_groups.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"

namespace powercut {
namespace {

using Metric = Quantity::Metric;

constexpr std::pair<const char*, Metric> kMetrics[] = {
    {"stores", Metric::kStores},        {"nt_stores", Metric::kNtStores}, {"store_bytes", Metric::kStoreBytes},
    {"widest", Metric::kWidest},        {"flushes", Metric::kFlushes},    {"fences", Metric::kFences},
    {"sfences", Metric::kSfences},      {"lines", Metric::kLines},        {"blocks", Metric::kBlocks},
    {"lines_read", Metric::kLinesRead}, {"marks", Metric::kMarks},        {"items", Metric::kItems},
};
constexpr std::pair<const char*, Measure::Comparison> kComparisons[] = {
    {"<=", Measure::Comparison::kAtMost},  {"<", Measure::Comparison::kBelow}, {"==", Measure::Comparison::kEqual},
    {">=", Measure::Comparison::kAtLeast}, {">", Measure::Comparison::kAbove},
};

// Throws Malformed for a word that is not in the table.
template <typename Table>
auto named(const Table& table, const JsonField& field) {
  const std::string text = field.text();
  for (const auto& [name, value] : table) {
    if (text == name) return value;
  }
  throw Malformed{field.at(), "there is no '" + text + "'"};
}

std::string text_or_none(const JsonField& json, const std::string& name) {
  return json.has(name) ? json[name].text() : "";
}

std::vector<std::string> texts_of(const std::vector<JsonField>& items) {
  std::vector<std::string> out;
  for (const JsonField& item : items) out.push_back(item.text());
  return out;
}

Quantity quantity_of(const JsonField& json, size_t selectors) {
  Quantity out{.metric = named(kMetrics, json["metric"]),
               .operation = text_or_none(json, "operation"),
               .command = text_or_none(json, "command")};
  if (json.has("selector") && json["selector"].json() != -1) {
    const uint64_t selector = json["selector"].number();
    if (selector >= selectors) throw json["selector"].wrong("one of the selectors");
    out.selector = static_cast<int>(selector);
  }
  return out;
}

bool matches(const std::string& pattern, std::string_view text) {
  return fnmatch(pattern.c_str(), std::string(text).c_str(), 0) == 0;
}

bool any_matches(const std::vector<std::string>& patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& glob) { return matches(glob, text); });
}

// How far a value is from what is claimed; the larger, the worse.
double distance_of(const Measure& measure, double value) {
  switch (measure.comparison) {
    case Measure::Comparison::kAtMost:
    case Measure::Comparison::kBelow:
      return value - measure.number;
    case Measure::Comparison::kAtLeast:
    case Measure::Comparison::kAbove:
      return measure.number - value;
    case Measure::Comparison::kEqual:
      break;
  }
  return std::abs(value - measure.number);
}

bool beyond(const Measure& measure, double value) {
  return measure.comparison == Measure::Comparison::kBelow ? value >= measure.number : value > measure.number;
}

}  // namespace

Result<MeasureRequest> parse_measure_request(const std::string& path) {
  const char* next = "reports/EVENTS.md shows its form.";
  const Result<std::string> text = read_user_file(path, next);
  if (!text) return text.error();
  const Json json = parse_json(*text);
  if (json.is_discarded()) return usage_error("not JSON", path, next);
  MeasureRequest out;
  try {
    const JsonField request(json, "");
    for (const JsonField& item : request["selectors"].items()) {
      Selector& selector = out.selectors.emplace_back();
      for (const JsonField& frame : item["frames"].items()) {
        const std::vector<JsonField> parts = frame.items();
        if (parts.size() != 2 || parts[0].number() > UINT32_MAX) throw frame.wrong("a module and an offset");
        selector.frames.emplace(static_cast<uint32_t>(parts[0].number()), parts[1].number());
      }
      selector.marks = texts_of(item["marks"].items());
    }
    for (const JsonField& item : request["measures"].items()) {
      Measure& measure = out.measures.emplace_back();
      measure.id = item["id"].number();
      measure.mean = item.has("mean") && item["mean"].flag();
      measure.quantity = quantity_of(item["quantity"], out.selectors.size());
      if (item.has("per")) measure.per = quantity_of(item["per"], out.selectors.size());
      measure.comparison = named(kComparisons, item["comparison"]);
      if (!item["number"].json().is_number()) throw item["number"].wrong("a number");
      measure.number = item["number"].json().get<double>();
      measure.when = texts_of(item.items_of("when"));
      measure.unless = texts_of(item.items_of("unless"));
    }
  } catch (const Malformed& malformed) {
    return usage_error("no request to measure: " + malformed.at + ": " + malformed.what, path, next);
  }
  return out;
}

OperationMeter::OperationMeter(const MeasureRequest& request, bool explored, const std::vector<uint32_t>* lines_read,
                               Stack stack)
    : request_(request),
      lines_read_(lines_read),
      stack_of_(std::move(stack)),
      explored_(explored),
      tallies_(request.measures.size()),
      selected_(request.selectors.size()) {}

void OperationMeter::add(const Event& event) {
  switch (event.kind) {
    case EventKind::kOpBegin:
      begin(event);
      break;
    case EventKind::kOpEnd:
      end(event);
      break;
    case EventKind::kPhase:
      explored_ = event.code == 1;
      break;
    case EventKind::kCut:
      running_.clear();
      break;
    case POWERCUT_MEMORY_EVENTS:
    case POWERCUT_PROCESS_EVENTS:
    case EventKind::kMarker:
    case POWERCUT_TREE_EVENTS:
    case EventKind::kContent:
      count(event);
  }
}

bool OperationMeter::concerns(const Quantity& quantity, const Told& operation) const {
  return (quantity.operation.empty() || quantity.operation == operation.kind) &&
         (quantity.command.empty() || matches(quantity.command, operation.command));
}

void OperationMeter::begin(const Event& event) {
  Running running;
  Told& operation = running.operation;
  operation.index = operations_++;
  const auto kind = static_cast<OpKind>(event.code);
  operation.kind = name_of(kind);
  operation.command = std::string(event.text);
  operation.has_key = !event.key.empty();
  running.key.assign(event.key.begin(), event.key.end());
  if (operation.has_key) {
    const auto id = event.key.size() >= kMinIdentityBytes ? key_id(event.key) : std::nullopt;
    operation.key = id ? key_name(*id) : "0x" + hex(event.key.first(std::min<size_t>(event.key.size(), 16)));
  }
  if (explored_) {
    running.items = static_cast<double>(live_.size());
    for (size_t i = 0; i < request_.measures.size(); ++i) {
      const Measure& measure = request_.measures[i];
      if (concerns(measure.quantity, operation)) running.counts.emplace_back(i, Count{});
      if (measure.per && concerns(*measure.per, operation)) running.pers.emplace_back(i, Count{});
    }
  }
  running_.insert_or_assign(event.thread, std::move(running));
}

bool OperationMeter::selects(const Quantity& quantity, const Event& event) const {
  if (quantity.selector < 0) return true;
  const auto index = static_cast<size_t>(quantity.selector);
  const auto [known, is_new] = selected_[index].try_emplace(event.stack, false);
  if (is_new) {
    const std::span<const Frame> frames = stack_of_(event.stack);
    known->second = std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) {
      return request_.selectors[index].frames.contains({frame.module, frame.offset});
    });
  }
  return known->second;
}

void OperationMeter::add_to(Count* count, const Quantity& quantity, const Measure& measure, const Event& event,
                            uint32_t last_store) const {
  const bool store = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
  const double before = count->value;
  const auto units = [&](uint64_t shift) {
    for (uint64_t unit = event.addr >> shift; unit <= (event.addr + event.size - 1) >> shift; ++unit) {
      count->units.insert(unit);
    }
    count->value = static_cast<double>(count->units.size());
  };
  switch (quantity.metric) {
    case Metric::kStores:
      if (store && selects(quantity, event)) ++count->value;
      break;
    case Metric::kNtStores:
      if (event.kind == EventKind::kNtStore) ++count->value;
      break;
    case Metric::kStoreBytes:
      if (store && selects(quantity, event)) count->value += static_cast<double>(event.size);
      break;
    case Metric::kWidest:
      if (store && selects(quantity, event)) count->value = std::max(count->value, static_cast<double>(event.size));
      break;
    case Metric::kFlushes:
      if (event.kind == EventKind::kFlush) ++count->value;
      break;
    case Metric::kFences:
      if (event.kind == EventKind::kFence) ++count->value;
      break;
    case Metric::kSfences: {
      const auto kind = static_cast<FenceKind>(event.code);
      if (event.kind == EventKind::kFence && (kind == FenceKind::kSfence || kind == FenceKind::kMfence)) ++count->value;
      break;
    }
    case Metric::kLines:
      if (store && selects(quantity, event)) units(6);
      break;
    case Metric::kBlocks:
      if (store && selects(quantity, event)) units(8);
      break;
    case Metric::kMarks:
      if (event.kind == EventKind::kMarker && quantity.selector >= 0 &&
          any_matches(request_.selectors[static_cast<size_t>(quantity.selector)].marks, event.text)) {
        ++count->value;
      }
      break;
    case Metric::kLinesRead:
    case Metric::kItems:
      break;
  }
  if (count->value == before || count->beyond) return;
  count->counted = true;
  count->event = event.index;
  count->stack = event.kind == EventKind::kMarker ? last_store : event.stack;
  count->beyond = !measure.per && !measure.mean && beyond(measure, count->value);
}

void OperationMeter::count(const Event& event) {
  const auto at = running_.find(event.thread);
  if (at == running_.end()) return;
  Running& running = at->second;
  if (event.kind == EventKind::kStore || event.kind == EventKind::kNtStore) running.last_store = event.stack;
  if (event.kind == EventKind::kMarker) running.marks.emplace_back(event.text);
  for (auto& [i, sum] : running.counts) {
    add_to(&sum, request_.measures[i].quantity, request_.measures[i], event, running.last_store);
  }
  for (auto& [i, sum] : running.pers) {
    add_to(&sum, *request_.measures[i].per, request_.measures[i], event, running.last_store);
  }
}

double OperationMeter::value_of(const Quantity& quantity, const Running& running, const Count& count) const {
  if (quantity.metric == Metric::kItems) return running.items;
  if (quantity.metric != Metric::kLinesRead) return count.value;
  const uint64_t index = running.operation.index;
  return lines_read_ != nullptr && index < lines_read_->size() ? (*lines_read_)[index] : 0;
}

void OperationMeter::close(size_t i, const Running& running, const Count* count, const Count* per) {
  const Measure& measure = request_.measures[i];
  for (const std::string& glob : measure.when) {
    if (std::none_of(running.marks.begin(), running.marks.end(),
                     [&](const auto& mark) { return matches(glob, mark); })) {
      return;
    }
  }
  for (const std::string& mark : running.marks) {
    if (any_matches(measure.unless, mark)) return;
  }
  Tally& tally = tallies_[i];
  const double value = count == nullptr ? 0 : value_of(measure.quantity, running, *count);
  const double divisor = per == nullptr ? 0 : value_of(*measure.per, running, *per);
  if (per != nullptr) {
    ++tally.per_operations;
    tally.per_sum += divisor;
  }
  if (count == nullptr) return;
  if (!measure.mean && measure.per && divisor == 0) return;
  // The widest of no stores says nothing.
  if (measure.quantity.metric == Metric::kWidest && value == 0) return;
  ++tally.operations;
  tally.sum += value;
  const double shown = !measure.mean && measure.per ? value / divisor : value;
  const double distance = distance_of(measure, shown);
  if (tally.worst && distance <= tally.distance) return;
  tally.worst = shown;
  tally.distance = distance;
  tally.operation = running.operation;
  tally.count = *count;
  tally.count.units.clear();
}

void OperationMeter::end(const Event& event) {
  const auto at = running_.find(event.thread);
  if (at == running_.end()) return;
  const Running running = std::move(at->second);
  running_.erase(at);
  const auto find = [](const std::vector<std::pair<size_t, Count>>& counts, size_t i) -> const Count* {
    const auto found = std::find_if(counts.begin(), counts.end(), [i](const auto& item) { return item.first == i; });
    return found == counts.end() ? nullptr : &found->second;
  };
  if (!running.counts.empty() || !running.pers.empty()) {
    for (size_t i = 0; i < request_.measures.size(); ++i) {
      const Count* count = find(running.counts, i);
      const Count* per = find(running.pers, i);
      if (count != nullptr || per != nullptr) close(i, running, count, per);
    }
  }
  const std::string& kind = running.operation.kind;
  const bool looked = kind == name_of(OpKind::kLookup), ok = event.code == POWERCUT_OK;
  if (ok && (looked || kind == name_of(OpKind::kInsert))) live_.insert(running.key);
  if ((ok && kind == name_of(OpKind::kErase)) || (looked && event.code == POWERCUT_NOT_FOUND)) live_.erase(running.key);
}

std::vector<Json> OperationMeter::results() const {
  std::vector<Json> out;
  for (size_t i = 0; i < tallies_.size(); ++i) {
    const Tally& tally = tallies_[i];
    const Measure& measure = request_.measures[i];
    const auto uses = [](const Quantity& quantity) { return quantity.metric == Metric::kLinesRead; };
    const bool unknown = lines_read_ == nullptr && (uses(measure.quantity) || (measure.per && uses(*measure.per)));
    std::optional<double> value = tally.worst;
    if (measure.mean && tally.operations > 0) {
      value = tally.sum / static_cast<double>(tally.operations);
      if (measure.per) {
        const double per = tally.per_operations == 0 ? 0 : tally.per_sum / static_cast<double>(tally.per_operations);
        value = per == 0 ? std::nullopt : std::optional(*value / per);
      }
    }
    if (unknown) value.reset();
    Json& event = out.emplace_back(Json{{"event", "measured"},
                                        {"id", measure.id},
                                        {"operations", tally.operations},
                                        {"value", value ? Json(*value) : Json(nullptr)},
                                        {"operation", nullptr},
                                        {"at", nullptr},
                                        {"unknown", unknown ? Json("lines_read") : Json(nullptr)}});
    if (!value) continue;
    const Told& operation = tally.operation;
    event["operation"] = {{"index", operation.index},
                          {"kind", operation.kind},
                          {"key", operation.has_key ? Json(operation.key) : Json(nullptr)},
                          {"text", operation.command}};
    if (!tally.count.counted) continue;
    Json stack = Json::array();
    for (const Frame& frame : stack_of_(tally.count.stack)) stack.push_back(Json::array({frame.module, frame.offset}));
    event["at"] = {{"event", tally.count.event}, {"stack", stack}};
  }
  return out;
}

}  // namespace powercut

#include "checker/findings/finding.h"

#include <cstdio>
#include <cstring>

#include "checker/findings/finding_parts.h"

namespace powercut {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json nested_json(const std::vector<Finding::Nested>& cuts, const FindingContext& context) {
  Json out = Json::array();
  for (const Finding::Nested& cut : cuts) {
    Json stores = Json::array();
    for (const Finding::Nested::Store& store : cut.stores) {
      stores.push_back({{"offset", store.offset}, {"size", store.size}, {"stack", frames_json(store.stack)}});
    }
    Json& entry = out.emplace_back(Json{{"depth", out.size() + 1},
                                        {"after_return", cut.after_return},
                                        {"recovery_stores", std::move(stores)},
                                        {"lines", image_json(cut.lines, context, false)}});
    if (!cut.contents.is_null()) entry["contents"] = cut.contents;
  }
  return out;
}

Json fault_json(const std::optional<Finding::Fault>& fault) {
  if (!fault) return nullptr;
  char address[32];
  std::snprintf(address, sizeof address, "0x%lx", fault->address);
  const char* signal = fault->signal == 0 ? nullptr : sigabbrev_np(fault->signal);
  return {{"signal", signal == nullptr ? Json(nullptr) : Json(std::string("SIG") + signal)},
          {"address", address},
          {"text", fault->text},
          {"stack", frames_json(fault->stack)}};
}

Json states_json(const std::vector<Finding::State>& states) {
  Json out = Json::array();
  for (const auto& [name, value] : states) out.push_back(Json::array({name, value}));
  return out;
}

StoreFates fates_of(const std::vector<Image::Line>& image, const FindingContext& context) {
  StoreFates out;
  for (const Image::Line& line : image) add_line(line, context, &out);
  return out;
}

std::string digest(const Finding& finding, const StoreFates& fates) {
  std::string text = finding.key;
  if (finding.stores_in_key) {
    for (const std::string& site : fates.decisive) text += "/" + site;
  }
  return finding_key(text + finding.key_end);
}

}  // namespace

Json modules_event(const std::vector<TraceModule>& modules) {
  Json list = Json::array();
  for (const TraceModule& module : modules) list.push_back({{"path", module.path}, {"build_id", module.build_id}});
  return {{"event", "modules"}, {"modules", list}};
}

std::string key_of(const Finding& finding, const FindingContext& context) {
  return digest(finding, fates_of(finding.image, context));
}

Json finding_body(const Finding& finding) {
  Json event = {{"event", "finding"}, {"invariant", finding.invariant}};
  event["underlying"] = finding.underlying.empty() ? Json(nullptr) : Json(finding.underlying);
  event["message"] = finding.message;
  event["needs_power_cut"] = finding.needs_power_cut;
  event["operation"] = {{"index", finding.operation.index},
                        {"kind", finding.operation.kind},
                        {"key", or_null(finding.operation.key)},
                        {"text", finding.operation.text},
                        {"in_flight", finding.operation.in_flight}};
  event["query"] = {{"kind", finding.query.kind},
                    {"key", or_null(finding.query.key)},
                    {"region", or_null(finding.query.region)},
                    {"text", finding.query.text}};
  event["expected"] = finding.expected;
  event["found"] = finding.found;
  if (!finding.difference.is_null()) event["difference"] = finding.difference;
  event["fault"] = fault_json(finding.fault);
  event["contents"] = {{"expected", states_json(finding.legal)}, {"actual", states_json(finding.actual)}};
  return event;
}

Json finding_event(const Finding& finding, const FindingContext& context) {
  const TraceFollower& follower = context.follower;
  const Instant& instant = follower.instant();
  StoreFates fates = fates_of(finding.image, context);
  Json event = finding_body(finding);
  event["key"] = digest(finding, fates);
  event["crash_point"] = {{"index", instant.ordinal},
                          {"event", instant.event},
                          {"when", instant.when},
                          {"depth", finding.nested.size()},
                          {"nested_event", or_null(finding.nested_event)}};
  event["image"] = image_json(finding.image, context, true);
  event["nested_image"] = nested_json(finding.nested, context);
  event["stores"] = std::move(fates.stores);
  event["timeline"] = timeline_json(finding.image, context);
  if (finding.last_store) {
    event["last_store"] = {{"stack", frames_json(follower.reader().stack(*finding.last_store))}};
  }
  if (finding.operation_name != nullptr && follower.in_tree()) {
    event["turns"] = turns_json(follower.schedule(), follower.reader(), finding.operation_name);
  }
  return event;
}

}  // namespace powercut

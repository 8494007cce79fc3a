#include "checker/native/finding.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "xxhash.h"

namespace powercut {
namespace {

constexpr size_t kSelectionLimit = 1 << 18;  // selections looked through for one that gives a line's content

Json frames_json(std::span<const Frame> frames) {
  Json out = Json::array();
  for (const Frame& frame : frames) out.push_back(Json::array({frame.module, frame.offset}));
  return out;
}

// The bytes of a store that are still pending, as [first, last] within the line.
std::pair<uint32_t, std::string> bytes_of(const PendingStore& store) {
  Overlay overlay;
  for (const Atom& atom : store.atoms) overlay.put(atom);
  const int first = std::countr_zero(overlay.mask);
  const int last = 63 - std::countl_zero(overlay.mask);
  return {static_cast<uint32_t>(first),
          hex({overlay.content.bytes.data() + first, static_cast<size_t>(last - first + 1)})};
}

// Which atoms of the line's pending stores give `content`, with as few lost as possible.
LineLog::Selection selection_of(const LineLog& log, const Content& base, const Content& content, AtomPolicy policy) {
  LineLog::Selection best(log.stores().size(), 0);
  int best_atoms = -1;
  size_t steps = 0;
  log.for_each(policy, [&](const Overlay& overlay, const LineLog::Selection& selection) {
    Content made = base;
    overlay.apply_to(&made);
    if (made == content) {
      int atoms = 0;
      for (uint64_t bits : selection) atoms += std::popcount(bits);
      if (atoms > best_atoms) {
        best_atoms = atoms;
        best = selection;
      }
    }
    return ++steps < kSelectionLimit;
  });
  return best;
}

struct StoreFates {
  Json stores = Json::array();
  std::set<std::string> decisive;  // sites and fates that name the finding
  bool decisive_lost = false;
};

void add_line(const Image::Line& line, const FindingContext& context, StoreFates* out) {
  const LineLog* log = context.model.pending().find(line.line);
  if (log == nullptr) return;
  const LineLog::Selection chosen = selection_of(*log, context.model.floor(line.line), line.content, context.policy);
  for (size_t i = 0; i < log->stores().size(); ++i) {
    const PendingStore& store = log->stores()[i];
    const auto atoms = static_cast<int>(store.atoms.size());
    const int kept = std::popcount(chosen[i]);
    const char* fate = kept == atoms ? "persisted" : kept == 0 ? "lost" : "torn";
    const auto [first, bytes] = bytes_of(store);
    const std::span<const Frame> stack = context.reader.stack(store.stack);
    if (line.decided) {
      const std::string site =
          stack.empty() ? "?" : std::to_string(stack[0].module) + ":" + std::to_string(stack[0].offset);
      if (kept != atoms) out->decisive.insert(std::string(fate) + site);
      out->decisive_lost = out->decisive_lost || kept != atoms;
    }
    out->stores.push_back({{"event", store.event},
                           {"offset", line.line * kLineSize + first},
                           {"size", bytes.size() / 2},
                           {"bytes", bytes},
                           {"fate", fate},
                           {"decisive", line.decided},
                           {"kind", store.non_temporal ? "nt-store" : "store"},
                           {"stack", frames_json(stack)}});
  }
}

Json image_json(const std::vector<Image::Line>& lines, const FindingContext& context, bool first) {
  Json out = Json::array();
  for (const Image::Line& line : lines) {
    Json entry = {{"offset", line.line * kLineSize}, {"bytes", hex(line.content.bytes)}};
    if (const LineSet* set = first ? context.frontier.find(line.line) : nullptr) {
      entry["floor"] = hex(set->contents[0].bytes);
      entry["visible"] = hex(set->contents[set->visible].bytes);
    } else {
      entry["floor"] = entry["visible"] = hex(line.content.bytes);
    }
    entry["candidates"] = line.candidates;
    entry["decided"] = line.decided;
    out.push_back(std::move(entry));
  }
  return out;
}

Json timeline_json(const std::vector<Image::Line>& lines, const FindingContext& context) {
  Json out = Json::array();
  for (const Image::Line& line : lines) {
    if (!line.decided) continue;
    Json events = Json::array();
    for (const LineTimeline::Entry& entry : context.timeline.entries(line.line)) {
      std::string detail = std::to_string(entry.size) + " bytes";
      if (entry.kind == EventKind::kFlush) detail = name_of(static_cast<FlushKind>(entry.code));
      if (entry.kind == EventKind::kFence) detail = name_of(static_cast<FenceKind>(entry.code));
      events.push_back({{"event", entry.event},
                        {"kind", name_of(entry.kind)},
                        {"detail", detail},
                        {"state", entry.state},
                        {"stack", frames_json(context.reader.stack(entry.stack))}});
    }
    out.push_back({{"offset", line.line * kLineSize}, {"events", events}});
  }
  return {{"crash_event", context.instant.event}, {"lines", out}};
}

Json nested_json(const Exposure& exposure, const FindingContext& context) {
  Json out = Json::array();
  for (size_t d = 1; d < exposure.image.levels.size(); ++d) {
    const Image::Nested& nested = exposure.image.nested[d - 1];
    Json stores = Json::array();
    for (const Executor::NestedStore& store : nested.stores) {
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
  for (const std::string& site : fates.decisive) key += "/" + site;
  if (!fault.empty()) key += "/" + std::to_string(fault[0].module) + ":" + std::to_string(fault[0].offset);
  const XXH128_hash_t digest = XXH3_128bits(key.data(), key.size());
  char name[33];
  std::snprintf(name, sizeof name, "%016lx%016lx", digest.high64, digest.low64);

  Json event = {{"event", "finding"}, {"key", name}, {"invariant", exposure.violation.invariant}};
  event["underlying"] = exposure.underlying.empty() ? Json(nullptr) : Json(exposure.underlying);
  event["message"] = exposure.violation.message;
  event["operation"] = {{"index", operation.index},
                        {"kind", name_of(operation.kind)},
                        {"key", operation.has_key ? Json(name_of(history.keys()[operation.key])) : Json(nullptr)},
                        {"text", operation.text},
                        {"in_flight", history.in_flight()}};
  event["query"] = {{"kind", name_of(kind)},
                    {"key", by_key ? Json(name_of(history.keys()[argument_of(exposure.query)])) : Json(nullptr)},
                    {"region", by_region ? Json(argument_of(exposure.query)) : Json(nullptr)},
                    {"text", describe_query(history, exposure.query)}};
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
    for (const std::string& state : exposure.violation.expected)
      expected.push_back({describe_query(history, exposure.query), state});
    actual.push_back({describe_query(history, exposure.query), exposure.violation.found});
  }
  event["contents"] = {{"expected", expected}, {"actual", actual}};
  return event;
}

}  // namespace powercut

#include "checker/findings/finding_parts.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "xxhash.h"

namespace powercut {
namespace {

constexpr size_t kSelectionLimit = 1 << 18;  // selections looked through for one that gives a line's content

// The bytes of a store that are still pending, as [first, last] within the line.
std::pair<uint32_t, std::string> stored_bytes(const PendingStore& store) {
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

}  // namespace

Json frames_json(std::span<const Frame> frames) {
  Json out = Json::array();
  for (const Frame& frame : frames) out.push_back(Json::array({frame.module, frame.offset}));
  return out;
}

void add_line(const Image::Line& line, const FindingContext& context, StoreFates* out) {
  const LineLog* log = context.follower.model().pending().find(line.line);
  if (log == nullptr) return;
  const LineLog::Selection chosen =
      selection_of(*log, context.follower.model().floor(line.line), line.content, context.policy);
  for (size_t i = 0; i < log->stores().size(); ++i) {
    const PendingStore& store = log->stores()[i];
    const auto atoms = static_cast<int>(store.atoms.size());
    const int kept = std::popcount(chosen[i]);
    const char* fate = kept == atoms ? "persisted" : kept == 0 ? "lost" : "torn";
    const auto [first, bytes] = stored_bytes(store);
    const std::span<const Frame> stack = context.follower.reader().stack(store.stack);
    if (line.decided) {
      const std::string site =
          stack.empty() ? "?" : std::to_string(stack[0].module) + ":" + std::to_string(stack[0].offset);
      if (kept != atoms) out->decisive.insert(std::string(fate) + site);
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
    if (const LineSet* set = first ? context.follower.frontier().find(line.line) : nullptr) {
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
    for (const LineTimeline::Entry& entry : context.follower.timeline().entries(line.line)) {
      std::string detail = std::to_string(entry.size) + " bytes";
      if (entry.kind == EventKind::kFlush) detail = name_of(static_cast<FlushKind>(entry.code));
      if (entry.kind == EventKind::kFence) detail = name_of(static_cast<FenceKind>(entry.code));
      events.push_back({{"event", entry.event},
                        {"kind", name_of(entry.kind)},
                        {"detail", detail},
                        {"state", entry.state},
                        {"stack", frames_json(context.follower.reader().stack(entry.stack))}});
    }
    out.push_back({{"offset", line.line * kLineSize}, {"events", events}});
  }
  return {{"crash_event", context.follower.instant().event}, {"lines", out}};
}

Json turns_json(const std::vector<KeptEvent>& schedule, const TraceReader& reader,
                const std::function<std::string(const Event&)>& operation) {
  Json out = Json::array();
  std::map<uint32_t, std::string> running;  // by thread
  for (const KeptEvent& kept : schedule) {
    const Event event = kept.view();
    // The event belongs to the creator of the thread.
    if (event.kind == EventKind::kThreadStart) continue;
    if (event.kind == EventKind::kOpBegin) running[event.thread] = operation(event);
    if (out.empty() || out.back()["thread"] != event.thread) {
      out.push_back({{"thread", event.thread}, {"operations", Json::array()}, {"events", 0}, {"stack", Json::array()}});
    }
    Json& turn = out.back();
    const std::string& name = running[event.thread];
    Json& operations = turn["operations"];
    if (!name.empty() && (operations.empty() || operations.back() != name)) operations.push_back(name);
    turn["events"] = turn["events"].get<uint64_t>() + 1;
    turn["in_operation"] = event.kind != EventKind::kOpEnd && event.kind != EventKind::kThreadEnd;
    if (event.stack != 0) turn["stack"] = frames_json(reader.stack(event.stack));
    if (event.kind == EventKind::kOpEnd) running[event.thread].clear();
  }
  return out;
}

std::string finding_key(const std::string& text) {
  const XXH128_hash_t digest = XXH3_128bits(text.data(), text.size());
  char name[33];
  std::snprintf(name, sizeof name, "%016lx%016lx", digest.high64, digest.low64);
  return name;
}

}  // namespace powercut

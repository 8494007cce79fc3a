#include "checker/exploration/performance_bugs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <tuple>

#include "tracer/format/event_groups.h"

namespace powercut {
namespace {

// Libraries that store to a pool for whoever calls them.
constexpr std::array<std::string_view, 7> kLibraries = {"libc.",      "libc-",    "libm.",  "libpthread.",
                                                        "libstdc++.", "ld-linux", "libpmem"};

void count_useless(PerformanceBug* row, const char* kind, const char* message, const Event& event) {
  if (row->count++ > 0) return;
  *row = {.kind = kind,
          .message = message,
          .count = 1,
          .of = row->of,
          .stack = event.stack,
          .offset = event.addr,
          .event = event.index};
}

// Words of a line that [begin, end) touches.
uint8_t words_of(uint64_t line, uint64_t begin, uint64_t end) {
  uint8_t out = 0;
  for (uint32_t word = 0; word < 8; ++word) {
    const uint64_t at = line * kLineSize + word * 8;
    if (at < end && begin < at + 8) out |= static_cast<uint8_t>(1u << word);
  }
  return out;
}

}  // namespace

PerformanceBugs::PerformanceBugs(const TraceReader& reader, PoolUse use)
    : reader_(reader), use_(std::move(use)), sites_(1) {}

bool PerformanceBugs::serves_everybody(const Frame& frame) const {
  const std::string name = std::filesystem::path(reader_.modules()[frame.module].path).filename();
  return std::ranges::any_of(kLibraries, [&](std::string_view library) { return name.starts_with(library); });
}

size_t PerformanceBugs::site_of(uint32_t stack) {
  const auto [known, is_new] = by_stack_.try_emplace(stack, 0);
  if (!is_new) return known->second;
  const std::span<const Frame> frames = reader_.stack(stack);
  if (frames.empty()) return 0;
  const auto own = std::ranges::find_if(frames, [this](const Frame& frame) { return !serves_everybody(frame); });
  const Frame& place = own == frames.end() ? frames.front() : *own;
  const auto [site, first] = by_place_.try_emplace({place.module, place.offset}, sites_.size());
  if (first) sites_.emplace_back();
  return known->second = site->second;
}

PerformanceBugs::Way& PerformanceBugs::way(uint32_t stack) {
  if (const auto known = ways_.find(stack); known != ways_.end()) return known->second;
  return ways_.size() < kMostStacks ? ways_[stack] : sites_[site_of(stack)];
}

uint64_t PerformanceBugs::left_out(uint64_t line) const {
  uint64_t out = 0;
  for (const auto& [begin, end] : use_.volatile_parts) {
    const uint64_t first = std::max(begin, line * kLineSize), last = std::min(end, (line + 1) * kLineSize);
    for (uint64_t at = first; at < last; ++at) out |= uint64_t{1} << (at % kLineSize);
  }
  return out;
}

void PerformanceBugs::apply(const Event& event) {
  const bool flushes = event.kind == EventKind::kFlush || event.kind == EventKind::kFence;
  if (for_size_ && (!flushes || event.thread != *for_size_)) for_size_.reset();
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      return store(event);
    case EventKind::kFlush:
      return flush(event);
    case EventKind::kFence:
      return fence(event);
    case EventKind::kCut:
      dirty_.clear();
      flushed_.clear();
      waiting_.clear();
      return;
    case EventKind::kMarker:
      if (event.text == kSizeMarker) for_size_ = event.thread;
      return;
    case POWERCUT_OPERATION_EVENTS:
    case POWERCUT_PROCESS_EVENTS:
    case EventKind::kPhase:
    case POWERCUT_TREE_EVENTS:
    case EventKind::kContent:
      return;
  }
}

void PerformanceBugs::store(const Event& event) {
  const uint64_t end = event.addr + event.size;
  store_stacks_.insert(event.stack);
  const bool outside = use_.size_word == event.addr || std::ranges::any_of(use_.volatile_parts, [&](const auto& range) {
                         return range.first <= event.addr && end <= range.second;
                       });
  // All pieces of one store count as one store.
  if (!outside && (event.flags & kStoreContinues) == 0) ++sites_[site_of(event.stack)].stores.of;
  if (event.kind == EventKind::kNtStore) {
    waiting_.insert(event.thread);
    return;
  }
  for (uint64_t line = event.addr / kLineSize; line <= (end - 1) / kLineSize; ++line) {
    Dirty& dirty = dirty_[line];
    dirty.words |= words_of(line, event.addr, end);
    dirty.flushed_by.clear();
  }
}

void PerformanceBugs::flush(const Event& event) {
  const uint64_t line = event.addr / kLineSize;
  const auto kind = static_cast<FlushKind>(event.code);
  const auto at = dirty_.find(line);
  if (kind == FlushKind::kForce) {
    if (use_.size_word == event.addr) return;
    PerformanceBug& row = way(event.stack).flushes;
    ++row.of;
    const uint8_t word = words_of(line, event.addr, event.addr + 1);
    if (at == dirty_.end() || (at->second.words & word) == 0) {
      count_useless(&row, "redundant-flush", "what this makes durable is durable already", event);
    } else if ((at->second.words &= static_cast<uint8_t>(~word)) == 0) {
      dirty_.erase(at);
    }
    return;
  }
  const bool useless =
      at == dirty_.end() || std::ranges::find(at->second.flushed_by, event.thread) != at->second.flushed_by.end();
  if (kind == FlushKind::kClflush) {
    if (at != dirty_.end()) dirty_.erase(at);
  } else if (!useless) {
    at->second.flushed_by.push_back(event.thread);
    flushed_[event.thread].push_back(line);
  }
  PerformanceBug& row = way(event.stack).flushes;
  ++row.of;
  if (useless) {
    if (for_size_) return;
    if (left_out(line) == 0) {
      count_useless(&row, "redundant-flush", "this flush had nothing to make durable", event);
      return;
    }
  }
  waiting_.insert(event.thread);
}

void PerformanceBugs::fence(const Event& event) {
  const auto kind = static_cast<FenceKind>(event.code);
  const bool for_size = for_size_.has_value();
  for_size_.reset();
  if (kind == FenceKind::kDevice) {
    PerformanceBug& row = way(event.stack).fences;
    ++row.of;
    if (dirty_.empty()) {
      count_useless(&row, "redundant-fence", "nothing was written since the device was flushed before", event);
    }
    dirty_.clear();
    return;
  }
  if (const auto flushed = flushed_.find(event.thread); flushed != flushed_.end()) {
    for (const uint64_t line : flushed->second) {
      const auto at = dirty_.find(line);
      if (at == dirty_.end()) continue;
      const auto& threads = at->second.flushed_by;
      if (std::ranges::find(threads, event.thread) != threads.end()) dirty_.erase(at);
    }
    flushed->second.clear();
  }
  const bool waits = waiting_.erase(event.thread) > 0;
  // A locked instruction and a lock's fence are there for visibility.
  if (kind != FenceKind::kSfence && kind != FenceKind::kMfence) return;
  Site& site = sites_[site_of(event.stack)];  // before its row, which may be one of them
  PerformanceBug& row = way(event.stack).fences;
  ++row.of;
  site.mfence = kind == FenceKind::kMfence;
  site.waited = site.waited || waits;
  if (!waits && !for_size) count_useless(&row, "redundant-fence", "this fence had nothing to wait for", event);
}

Persisting PerformanceBugs::persisting() const {
  Persisting out;
  out.stores.assign(store_stacks_.begin(), store_stacks_.end());
  for (const auto& [stack, way] : ways_) out.flushes.push_back(stack);
  std::ranges::sort(out.stores);
  std::ranges::sort(out.flushes);
  return out;
}

std::vector<PerformanceBug> PerformanceBugs::finish(const Model& model) {
  // A store that crosses lines may be pending in several lines.
  struct Pending {
    uint64_t event;
    uint32_t stack;
    uint64_t line;
  };
  std::vector<Pending> pending;
  for (const auto& [line, log] : model.pending().lines()) {
    const uint64_t outside = left_out(line);
    for (const PendingStore& store : log.stores()) {
      const bool counts = std::ranges::any_of(store.atoms, [&](const Atom& a) { return (a.mask() & ~outside) != 0; });
      if (counts) pending.push_back({store.event, store.stack, line});
    }
  }
  std::ranges::sort(pending, {}, [](const Pending& one) { return std::tie(one.event, one.line); });
  uint64_t before = ~uint64_t{0};
  for (const Pending& one : pending) {
    if (std::exchange(before, one.event) == one.event) continue;
    Event event;
    event.index = one.event;
    event.stack = one.stack;
    event.addr = one.line * kLineSize;
    count_useless(&sites_[site_of(one.stack)].stores, "never-persisted",
                  "stores of this place were not certainly durable at the end of the run", event);
  }

  std::vector<PerformanceBug> out;
  const auto add = [&](const PerformanceBug& row) {
    const size_t number = row.count == 0 ? 0 : site_of(row.stack);
    if (number == 0) return;
    const Site& site = sites_[number];
    if (row.kind != "redundant-fence" || !site.mfence || site.waited) out.push_back(row);
  };
  for (const auto& [stack, rows] : ways_) {
    add(rows.flushes);
    add(rows.fences);
  }
  for (size_t i = 1; i < sites_.size(); ++i) {
    add(sites_[i].flushes);
    add(sites_[i].fences);
    add(sites_[i].stores);
  }
  std::ranges::sort(out, {}, [](const PerformanceBug& row) { return std::tie(row.kind, row.event); });
  return out;
}

}  // namespace powercut

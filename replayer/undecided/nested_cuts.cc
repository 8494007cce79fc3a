#include "replayer/undecided/nested_cuts.h"

#include <algorithm>

namespace powercut {

void NestedCuts::store(const StoreTraits& traits, uint64_t offset, std::span<const uint8_t> bytes,
                       std::vector<uint64_t> stack, AtCrashPoint at_crash_point) {
  if (caches_persist() && !traits.continues) land();
  const StoreTraits as = persistency_ == Persistency::kBlock   ? unit_write()
                         : persistency_ == Persistency::kFlash ? page_write()
                                                               : traits;
  pending_.store(stores_.size(), 0, 0, as, offset, bytes);
  stores_.push_back({offset, bytes.size(), std::move(stack)});
  if (caches_persist()) return at_crash_point();
  for_each_line(offset, offset + bytes.size(), [this](uint64_t line, uint64_t) {
    if (open_.empty() || open_.back() != line) open_.push_back(line);
  });
}

void NestedCuts::flush(uint64_t offset, FlushKind kind, AtCrashPoint at_crash_point) {
  if (caches_persist() || is_device(persistency_) != (kind == FlushKind::kForce)) return;
  if (persistency_ == Persistency::kBlock) {
    const LineLog* log = pending_.find(offset / kLineSize);
    if (log == nullptr || !log->pending()) return;
    at_crash_point();
    return pending_.force(offset);
  }
  if (persistency_ == Persistency::kFlash) kind = FlushKind::kClflush;
  if (kind == FlushKind::kClflush && pending_.raised_by_clflush(offset)) at_crash_point();
  pending_.flush(0, offset, kind);
}

void NestedCuts::fence(AtCrashPoint at_crash_point) {
  if (is_device(persistency_)) {
    if (persistency_ != Persistency::kBlock || all_durable()) return;
    at_crash_point();
    return pending_.settle_all();
  }
  if (!caches_persist() && !pending_.raised_by_fence(0).empty()) at_crash_point();
  pending_.fence(0);
}

std::optional<Cut> NestedCuts::cut_after(std::vector<Narrowed> narrowed) {
  if (stores_.empty()) return std::nullopt;
  if (caches_persist()) land();
  return Cut{pending_, std::move(narrowed), stores_.size(), true};
}

bool NestedCuts::all_durable() {
  std::erase_if(open_, [this](uint64_t line) {
    const LineLog* log = pending_.find(line);
    return log == nullptr || !log->pending();
  });
  return open_.empty();
}

void NestedCuts::land() {
  for (uint64_t line : pending_.take_changed()) pending_.settle_chain(line);
}

}  // namespace powercut

#include "replayer/undecided/nested_cuts.h"

#include <algorithm>

namespace powercut {

void NestedCuts::store(const StoreTraits& traits, uint64_t offset, std::span<const uint8_t> bytes,
                       std::vector<uint64_t> stack, AtCrashPoint at_crash_point) {
  if (rules_->stores_at_once() && !traits.continues) land();
  pending_.store(stores_.size(), 0, 0, rules_->taken(traits), offset, bytes);
  stores_.push_back({offset, bytes.size(), std::move(stack)});
  if (rules_->stores_at_once()) return at_crash_point();
  for_each_line(offset, offset + bytes.size(), [this](uint64_t line, uint64_t) {
    if (open_.empty() || open_.back() != line) open_.push_back(line);
  });
}

void NestedCuts::flush(uint64_t offset, FlushKind kind, AtCrashPoint at_crash_point) {
  switch (rules_->by_flush(kind)) {
    case Durable::kWithFence:
      pending_.flush(0, offset, FlushKind::kClwb);
      return;
    case Durable::kLine:
      if (pending_.raised_by_clflush(offset)) at_crash_point();
      pending_.flush(0, offset, FlushKind::kClflush);
      return;
    case Durable::kWord: {
      const LineLog* log = pending_.find(offset / kLineSize);
      if (log == nullptr || !log->pending()) return;
      at_crash_point();
      return pending_.force(offset);
    }
    case Durable::kNothing:
    case Durable::kOfThread:
    case Durable::kAll:
      return;
  }
}

void NestedCuts::fence(AtCrashPoint at_crash_point) {
  const Durable durable = rules_->by_fence();
  if (durable == Durable::kAll && !all_durable()) {
    at_crash_point();
    pending_.settle_all();
  } else if (durable == Durable::kOfThread) {
    if (!rules_->stores_at_once() && !pending_.raised_by_fence(0).empty()) at_crash_point();
    pending_.fence(0);
  }
}

std::optional<Cut> NestedCuts::cut_after(std::vector<Narrowed> narrowed) {
  if (stores_.empty()) return std::nullopt;
  if (rules_->stores_at_once()) land();
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

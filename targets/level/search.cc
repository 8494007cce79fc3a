// Search with dynamic order (3.2(3)) and the counts behind it.
#include "targets/level/table.h"

namespace powercut::level {

Place Table::Find(const Access& access, const Item& key) {
  Place found;
  ForEachCopy(access, key, [&](const Place& place) {
    found = place;
    return 1;
  });
  return found;
}

Place Table::FindOtherCopy(const Access& access, const Item& key, const Place& place) {
  Place found;
  ForEachCopy(access, key, [&](const Place& other) {
    if (other.bucket == place.bucket && other.slot == place.slot) return 0;
    found = other;
    return 1;
  });
  return found;
}

bool Table::ClearOtherCopy(const Access& access, const Item& key, const Place& place, const char* mark, Item* old) {
  bool cleared = false;
  ForEachCopy(access, key, [&](const Place& other) {
    if (other.bucket == place.bucket && other.slot == place.slot) return 0;
    pmem::mark(mark);
    if (old != nullptr) geometry_.Copy(old->bytes, geometry_.Slot(other.bucket, other.slot));
    Clear(other);
    cleared = true;
    return 1;
  });
  return cleared;
}

void Table::AddItems(Level& level, int64_t change) {
  if (!options_.dynamic_search || counted_ == 0) return;
  level.drift += change;
  if (++changes_ >= settle_after_) SettleItems();
}

void Table::SettleItems() {
  if (!options_.dynamic_search) return;
  for (int i = 0; i < level_count_; ++i) {
    levels_[i].items += static_cast<uint64_t>(levels_[i].drift);
    levels_[i].drift = 0;
  }
  const uint64_t top = levels_[0].items, bottom = levels_[1].items;
  changes_ = 0;
  bottom_first_ = bottom > top ? 1 : 0;
  settle_after_ = std::bit_floor(std::max<uint64_t>(1, bottom > top ? bottom - top : top - bottom));
}

// Begins to count items. Nothing is counted before, during recovery. Otherwise two recoveries that began in different
// states would still differ in their counts after the same move, and would never meet
// (replayer/explorer/convergence.h).
void Table::CountItems() {
  if (!options_.dynamic_search) return;
  counted_ = 1;
  for (int i = 0; i < level_count_; ++i) {
    Level& level = levels_[i];
    level.items = 0;
    level.drift = 0;
    for (uint64_t b = 0; b < level.buckets(); ++b) {
      level.items += static_cast<uint64_t>(std::popcount(geometry_.LoadTokens(Bucket(level, b)) & geometry_.full()));
    }
  }
  SettleItems();
}

void Table::OrderSearch() {
  CountItems();
  counted_ = 0;
}

}  // namespace powercut::level

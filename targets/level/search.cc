// Search with dynamic order (3.2(3)) and the counts behind it.
#include "targets/level/table.h"

namespace powercut::level {

Place Table::Find(const Item& key) {
  Place found;
  ForEachCopy(key, [&](const Place& place) {
    found = place;
    return 1;
  });
  return found;
}

Place Table::FindOtherCopy(const Item& key, const Place& place) {
  Place found;
  ForEachCopy(key, [&](const Place& other) {
    if (other.bucket == place.bucket && other.slot == place.slot) return 0;
    found = other;
    return 1;
  });
  return found;
}

powercut_status Table::Lookup(const Item& key, const uint8_t** value) {
  const Place place = Find(key);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  *value = geometry_.Slot(place.bucket, place.slot) + geometry_.key_size;
  return POWERCUT_OK;
}

void Table::AddItems(Level& level, int64_t change) {
  if (!options_.dynamic_search) return;
  level.items += static_cast<uint64_t>(change);
  const uint64_t bottom_first = levels_[1].items > levels_[0].items ? 1 : 0;
  if (bottom_first != bottom_first_) bottom_first_ = bottom_first;
}

void Table::CountItems() {
  if (!options_.dynamic_search) return;
  for (int i = 0; i < level_count_; ++i) {
    Level& level = levels_[i];
    level.items = 0;
    for (uint64_t b = 0; b < level.buckets(); ++b) {
      level.items += static_cast<uint64_t>(std::popcount(geometry_.LoadTokens(Bucket(level, b)) & geometry_.full()));
    }
  }
  bottom_first_ = levels_[1].items > levels_[0].items ? 1 : 0;
}

}  // namespace powercut::level

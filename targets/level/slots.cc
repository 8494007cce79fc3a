// The persistent steps that every operation is made of, and the locks of slots.
#include <new>

#include "targets/common/planted_bugs.h"
#include "targets/level/table.h"

namespace powercut::level {

void Table::PersistSlot(uint8_t* slot) const {
  // A slot of layout 8x8 may straddle two lines; both must be written back.
  pmem::persist(slot, Has(Bug::kFlushFirstLine) ? 1 : geometry_.item_size);
}

void Table::PersistTokens(const uint8_t* bucket) const {
  pmem::persist(bucket + geometry_.header_at, geometry_.header_size);
}

void Table::WriteItem(uint8_t* slot, const uint8_t* item) const {
  geometry_.Copy(slot, item);
  PersistSlot(slot);
}

void Table::Fill(const Place& place, const uint8_t* item, Bug unordered) {
  uint8_t* slot = geometry_.Slot(place.bucket, place.slot);
  geometry_.Copy(slot, item);
  SKIP_IF (unordered) PersistSlot(slot);
  if (locks_ == nullptr || Has(Bug::kTokenNotAtomic)) {
    geometry_.StoreTokens(place.bucket, geometry_.LoadTokens(place.bucket) | 1u << place.slot);
  } else {
    geometry_.AddTokens(place.bucket, 1u << place.slot);
  }
  const bool wrong = Has(Bug::kFlushWrongToken) && place.bucket != place.level->base;
  PersistTokens(wrong ? place.bucket - geometry_.stride : place.bucket);
  DO_IF (unordered) PersistSlot(slot);
  AddItems(*place.level, 1);
}

void Table::Clear(const Place& place) {
  if (locks_ == nullptr) {
    geometry_.StoreTokens(place.bucket, geometry_.LoadTokens(place.bucket) & ~(1u << place.slot));
  } else {
    geometry_.RemoveTokens(place.bucket, 1u << place.slot);
  }
  PersistTokens(place.bucket);
  AddItems(*place.level, -1);
}

bool Table::Share() {
  locks_.reset(new (std::nothrow) Locks(/*share_stripes=*/!options_.hardened));
  if (locks_ == nullptr) return false;
  for (int i = 0; i < level_count_; ++i) {
    if (!locks_->Cover(levels_[i], geometry_.slots)) return false;
  }
  counted_ = 0;
  return true;
}

uint8_t* Table::LockOf(const Access& access, const Place& place) const {
  if (access.alone()) return nullptr;
  if (Has(Bug::kLockInPool) && !geometry_.wide && geometry_.slots == 4) return place.bucket + 4 + place.slot;
  const auto bucket = static_cast<uint64_t>(place.bucket - place.level->base) / geometry_.stride;
  return locks_->slot(*place.level, bucket * geometry_.slots + place.slot);
}

bool Table::TakeEmpty(const Access& access, uint32_t slots, Place* place, SpinGuard* guard) const {
  for (uint32_t rest = slots; rest != 0; rest &= rest - 1) {
    place->slot = static_cast<uint32_t>(std::countr_zero(rest));
    guard->Lock(LockOf(access, *place));
    if (!guard->held() || !IsValid(*place)) return true;
    guard->Unlock();
  }
  return false;
}

}  // namespace powercut::level

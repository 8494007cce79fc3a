// The persistent steps that every operation is made of.
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
  if (!Has(unordered)) PersistSlot(slot);
  geometry_.StoreTokens(place.bucket, geometry_.LoadTokens(place.bucket) | 1u << place.slot);
  const bool wrong = Has(Bug::kFlushWrongToken) && place.bucket != place.level->base;
  PersistTokens(wrong ? place.bucket - geometry_.stride : place.bucket);
  if (Has(unordered)) PersistSlot(slot);
  AddItems(*place.level, 1);
}

void Table::Clear(const Place& place) {
  geometry_.StoreTokens(place.bucket, geometry_.LoadTokens(place.bucket) & ~(1u << place.slot));
  PersistTokens(place.bucket);
  AddItems(*place.level, -1);
}

}  // namespace powercut::level

// Opportunistic log-free update (3.3(4)) with the undo log as its fall-back.
#include "targets/level/table.h"

namespace powercut::level {

powercut_status Table::Update(const Item& item) {
  Place place = Find(item);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  // "If the updated item has two copies in the hash table, we first delete one and then update the other."
  // Order matters: two copies with different values would make the answer depend on the search order.
  for (Place other = FindOtherCopy(item, place); other.found() && !Has(Bug::kUpdateFirstCopy);
       other = FindOtherCopy(item, place)) {
    pmem::mark("update.duplicate");
    Clear(other);
  }
  place.tokens = geometry_.LoadTokens(place.bucket) & geometry_.full();  // the other copy may share the bucket
  if (options_.opportunistic && place.tokens != geometry_.full()) {
    UpdateLogFree(place, static_cast<uint32_t>(std::countr_one(place.tokens)), item);
  } else {
    UpdateLogged(place, item);
  }
  return POWERCUT_OK;
}

// Writes the new item beside the old one, then switches both tokens by one atomic store.
void Table::UpdateLogFree(const Place& place, uint32_t slot, const Item& item) {
  pmem::mark("update.logfree");
  uint8_t* target = geometry_.Slot(place.bucket, slot);
  geometry_.Copy(target, item.bytes);
  if (!Has(Bug::kUpdateUnordered)) PersistSlot(target);
  const uint32_t without_old = place.tokens & ~(1u << place.slot);
  if (Has(Bug::kUpdateTwoWrites)) {
    geometry_.StoreTokens(place.bucket, without_old);
    PersistTokens(place.bucket);
  }
  geometry_.StoreTokens(place.bucket, without_old | 1u << slot);
  PersistTokens(place.bucket);
  if (Has(Bug::kUpdateUnordered)) PersistSlot(target);
}

// Log the old item, make the log valid, overwrite in place, make the log invalid; each step durable before the
// next. Until the last one, recovery puts the old item back. The key stays, so only the value is written.
void Table::UpdateLogged(const Place& place, const Item& item) {
  pmem::mark("update.logged");
  Root* log = root();
  uint8_t* slot = geometry_.Slot(place.bucket, place.slot);
  geometry_.Copy(log->log_item, slot);
  if (!Has(Bug::kLogUnordered)) pmem::persist(log->log_item, geometry_.item_size);
  pmem::atomic_store(&log->log_slot, OffsetOf(slot));
  pmem::persist(&log->log_slot, sizeof log->log_slot);
  if (Has(Bug::kLogUnordered)) pmem::persist(log->log_item, geometry_.item_size);

  if (geometry_.wide) {
    std::memcpy(slot + 16, item.bytes + 16, 15);
  } else {
    std::memcpy(slot + 8, item.bytes + 8, 8);
  }
  // Of a slot that straddles two lines only the value's line is dirty.
  uint8_t* value = slot + geometry_.key_size;
  if (!Has(Bug::kLogClearedEarly)) pmem::persist(value, geometry_.value_size);
  pmem::mark("update.overwritten");
  pmem::atomic_store(&log->log_slot, uint64_t{0});
  pmem::persist(&log->log_slot, sizeof log->log_slot);
  if (Has(Bug::kLogClearedEarly)) pmem::persist(value, geometry_.value_size);
}

}  // namespace powercut::level

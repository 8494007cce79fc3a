// Opportunistic log-free update (3.3(4)) with its fall-backs for a full bucket: the undo log, or
// one atomic store where a slot is a word.
#include "targets/common/planted_bugs.h"
#include "targets/level/table.h"

namespace powercut::level {

// The locks that an update holds.
struct Table::UpdateLocks {
  Access access;    // the key
  SpinGuard item;   // the slot of the item
  SpinGuard empty;  // the slot that it is written to

  void Release() {
    empty.Unlock();
    item.Unlock();
    access.Release();
  }
};

powercut_status Table::Update(const Item& item, Item* old) {
  UpdateLocks locks{.access = Access(locks_.get(), geometry_.ProbeOf(item)), .item = {}, .empty = {}};
  Place place;
  do {
    locks.item.Unlock();
    place = Find(locks.access, item);
    if (!place.found()) return POWERCUT_NOT_FOUND;
    // "If the updated item has two copies in the hash table, we first delete one and then update the other."
    // Order matters: two copies with different values would make the answer depend on the search order.
    while (!Has(Bug::kUpdateFirstCopy) && ClearOtherCopy(locks.access, item, place, "update.duplicate")) continue;
    locks.item.Lock(LockOf(locks.access, place));
    // An operation that does not own the item may find the item moved or erased by now.
  } while (locks.access.slots_only() && !Holds(place, item));
  if (old != nullptr) geometry_.Copy(old->bytes, geometry_.Slot(place.bucket, place.slot));
  place.tokens = geometry_.LoadTokens(place.bucket) & geometry_.full();  // the other copy may share the bucket
  Place empty = place;
  if (options_.opportunistic && TakeEmpty(locks.access, EmptySlots(place), &empty, &locks.empty)) {
    UpdateLogFree(&locks, place, empty.slot, item);
  } else if constexpr (Geometry::kAtomicSlots) {
    UpdateSlot(place, item);
  } else {
    UpdateLogged(locks.access, place, item);
  }
  return POWERCUT_OK;
}

// Writes the new item beside the old one, then switches both tokens by one atomic store.
void Table::UpdateLogFree(UpdateLocks* locks, const Place& place, uint32_t slot, const Item& item) {
  pmem::mark("update.logfree");
  uint8_t* target = geometry_.Slot(place.bucket, slot);
  geometry_.Copy(target, item.bytes);
  SKIP_IF (Bug::kUpdateUnordered) PersistSlot(target);
  const uint32_t without_old = place.tokens & ~(1u << place.slot);
  DO_IF (Bug::kUpdateTwoWrites) geometry_.StoreTokens(place.bucket, without_old);
  DO_IF (Bug::kUpdateTwoWrites) PersistTokens(place.bucket);
  if (locks_ == nullptr || Has(Bug::kUpdateTwoWrites)) {
    geometry_.StoreTokens(place.bucket, without_old | 1u << slot);
  } else {
    geometry_.FlipTokens(place.bucket, 1u << place.slot | 1u << slot);
  }
  DO_IF (Bug::kUnlockBeforeFlush) locks->Release();
  PersistTokens(place.bucket);
  DO_IF (Bug::kUpdateUnordered) PersistSlot(target);
}

// Logging is for data "larger than 8 bytes" (2.1): a slot that is one word is switched by one store.
void Table::UpdateSlot(const Place& place, const Item& item) {
  pmem::mark("update.switched");
  uint8_t* slot = geometry_.Slot(place.bucket, place.slot);
  geometry_.Copy(slot, item.bytes);
  PersistSlot(slot);
}

}  // namespace powercut::level

// Opportunistic log-free update (3.3(4)) with the undo log as its fall-back.
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

powercut_status Table::Update(const Item& item) {
  UpdateLocks locks{.access = Access(locks_.get(), HashKey(item.bytes, geometry_.wide)), .item = {}, .empty = {}};
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
  place.tokens = geometry_.LoadTokens(place.bucket) & geometry_.full();  // the other copy may share the bucket
  Place empty = place;
  if (options_.opportunistic && TakeEmpty(locks.access, EmptySlots(place), &empty, &locks.empty)) {
    UpdateLogFree(&locks, place, empty.slot, item);
  } else {
    UpdateLogged(locks, place, item);
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

// Log the old item, make the log valid, overwrite in place, make the log invalid; each step durable before the
// next. Until the last one, recovery puts the old item back. The key stays, so only the value is written.
void Table::UpdateLogged(const UpdateLocks& locks, const Place& place, const Item& item) {
  const bool shared = locks.access.alone() || Has(Bug::kUndoLogShared);
  const SpinGuard guard(shared ? nullptr : locks_->undo_log());
  pmem::mark("update.logged");
  Root* log = root();
  uint8_t* slot = geometry_.Slot(place.bucket, place.slot);
  geometry_.Copy(log->log_item, slot);
  SKIP_IF (Bug::kLogUnordered) pmem::persist(log->log_item, geometry_.item_size);
  pmem::atomic_store(&log->log_slot, OffsetOf(slot));
  pmem::persist(&log->log_slot, sizeof log->log_slot);
  DO_IF (Bug::kLogUnordered) pmem::persist(log->log_item, geometry_.item_size);

  if (geometry_.wide) {
    std::memcpy(slot + 16, item.bytes + 16, 15);
  } else {
    std::memcpy(slot + 8, item.bytes + 8, 8);
  }
  // If a slot straddles two lines, only the value's line is dirty.
  uint8_t* value = slot + geometry_.key_size;
  SKIP_IF (Bug::kLogClearedEarly) pmem::persist(value, geometry_.value_size);
  pmem::mark("update.overwritten");
  pmem::atomic_store(&log->log_slot, uint64_t{0});
  pmem::persist(&log->log_slot, sizeof log->log_slot);
  DO_IF (Bug::kLogClearedEarly) pmem::persist(value, geometry_.value_size);
}

}  // namespace powercut::level

// Update and erase.
#include "targets/common/cuckoo/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cuckoo {

powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  StripeGuard guard(locks_.get());
  LockBuckets(key, &guard);
  const Place place = Find(key);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  Item item;
  std::memcpy(item.bytes, key, geometry_.key_size);
  std::memcpy(item.bytes + geometry_.key_size, value, geometry_.value_size);
  if (options_.treats_duplicates) {
    // Paper 000, 3.3(4): "we first delete one and then update the other". Order matters: two copies with different
    // values would make the answer depend on the search order.
    for (Place other = FindOtherCopy(place); other.found(); other = FindOtherCopy(place)) {
      pmem::mark("update.duplicate");
      Clear(other);
    }
  }
  if (options_.bare_update ||
      (options_.update == UpdateBy::kInplace && geometry_.value_size == sizeof(uint64_t) && !geometry_.wide)) {
    UpdateInPlace(place, item, &guard);
    return POWERCUT_OK;
  }
  Place beside = place;
  if (options_.update != UpdateBy::kLogged && FindFree(&beside)) {
    UpdateLogFree(place, beside.slot, item, ProbeOf(key));
  } else {
    UpdateLogged(place, item);
  }
  return POWERCUT_OK;
}

// Atomic for values of 8 bytes, which lie on 8-byte boundaries; what `published` does to longer ones can tear.
void Table::UpdateInPlace(const Place& place, const Item& item, StripeGuard* guard) {
  pmem::mark("update.inplace");
  uint8_t* value = SlotAt(place) + geometry_.key_size;
  if (geometry_.wide) {
    std::memcpy(value, item.bytes + 16, 15);
  } else {
    uint64_t word;
    std::memcpy(&word, item.bytes + 8, sizeof word);
    pmem::atomic_store(reinterpret_cast<uint64_t*>(value), word);
  }
  DO_IF (Bug::kUnlockBeforeFlush) guard->Unlock();
  pmem::persist(value, geometry_.value_size);
}

// Writes the new item beside the old one, then switches both tokens by one atomic store.
void Table::UpdateLogFree(const Place& place, uint32_t slot, const Item& item, const Probe& probe) {
  pmem::mark("update.logfree");
  const Shape& shape = ShapeOf(place);
  uint8_t* bucket = BucketAt(place);
  uint8_t* target = shape.Slot(bucket, slot);
  geometry_.Copy(target, item.bytes);
  SKIP_IF (Bug::kUpdateUnordered) PersistSlot(place, target);
  uint64_t header = shape.LoadHeader(bucket) & ~(uint64_t{1} << place.slot);
  const auto store = [&] {
    shape.StoreHeader(bucket, header);
    pmem::persist(bucket + shape.header_at, shape.header_size);
  };
  DO_IF (Bug::kUpdateTwoWrites) store();
  header |= uint64_t{1} << slot;
  if (options_.tags) header = Shape::WithTag(header, slot, probe.tag());
  store();
  DO_IF (Bug::kUpdateUnordered) PersistSlot(place, target);
}

// Log the old item, make the log valid, overwrite in place, make the log invalid; each step durable before the
// next. Until the last one, recovery puts the old item back. The key stays, so only the value is written.
void Table::UpdateLogged(const Place& place, const Item& item) {
  const SpinGuard guard(locks_ == nullptr || Has(Bug::kUndoLogShared) ? nullptr : locks_->undo_log());
  pmem::mark("update.logged");
  Root* log = root();
  uint8_t* slot = SlotAt(place);
  geometry_.Copy(log->log_item, slot);
  SKIP_IF (Bug::kLogUnordered) pmem::persist(log->log_item, geometry_.item_size);
  pmem::atomic_store(&log->log_slot, OffsetOf(slot));
  pmem::persist(&log->log_slot, sizeof log->log_slot);
  DO_IF (Bug::kLogUnordered) pmem::persist(log->log_item, geometry_.item_size);

  uint8_t* value = slot + geometry_.key_size;
  if (geometry_.wide) {
    std::memcpy(value, item.bytes + 16, 15);
  } else {
    std::memcpy(value, item.bytes + 8, 8);
  }
  SKIP_IF (Bug::kLogClearedEarly) pmem::persist(value, geometry_.value_size);
  pmem::mark("update.overwritten");
  pmem::atomic_store(&log->log_slot, uint64_t{0});
  pmem::persist(&log->log_slot, sizeof log->log_slot);
  DO_IF (Bug::kLogClearedEarly) pmem::persist(value, geometry_.value_size);
}

powercut_status Table::Erase(const uint8_t* key) {
  StripeGuard guard(locks_.get());
  LockBuckets(key, &guard);
  const Place place = Find(key);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  pmem::mark("erase");
  Clear(place);
  // A second copy, left by a power cut during a movement, would bring the item back. The order does not matter: until
  // the last one is gone, the erase has not happened.
  if (options_.hardened && !Has(Bug::kEraseFirstCopy)) {
    for (Place other = Find(key); other.found(); other = Find(key)) {
      pmem::mark("erase.duplicate");
      Clear(other);
    }
  }
  if (options_.unstash) DrainStash(place);
  return POWERCUT_OK;
}

// An item of the stash that belongs into the bucket takes the slot that an erase has freed.
void Table::DrainStash(const Place& freed) {
  if (InStash(freed) || freed.array != &arrays_[0]) return;
  Place stashed{&arrays_[0], Buckets(arrays_[0]), 0};
  for (uint32_t rest = Tokens(stashed); rest != 0; rest &= rest - 1) {
    stashed.slot = static_cast<uint32_t>(std::countr_zero(rest));
    const Probe probe = ProbeOf(SlotAt(stashed));
    if (Home(*freed.array, probe, 0) != freed.index && Home(*freed.array, probe, 1) != freed.index) continue;
    pmem::mark("unstash");
    Move(stashed, freed, Bug::kUnstashClearFirst, "unstash.copied");
    return;
  }
}

}  // namespace powercut::cuckoo

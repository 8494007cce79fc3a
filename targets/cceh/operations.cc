// The operations of the map. An item exists from the store of its key on; a value is one word and changes in place.
#include "targets/cceh/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cceh {
namespace {

uint64_t Word(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

powercut_status Table::Insert(const uint8_t* key_bytes, const uint8_t* value_bytes) {
  const uint64_t key = Word(key_bytes), value = Word(value_bytes);
  if (IsReserved(key)) {
    const SpinGuard guard(LockOf(&Locks::reserved));
    ReservedItem* item = Reserved(key);
    if (Exclusive() && item->present != 0) return POWERCUT_EXISTS;
    // One line, as in a slot: the flag is never durable without its value.
    pmem::atomic_store(&item->value, value);
    pmem::atomic_store(&item->present, uint64_t{1});
    pmem::persist(item, sizeof *item);
    return POWERCUT_OK;
  }
  const uint64_t hash = HashOf(key);
  const bool checks_apart = Has(Bug::kInsertCheckApart), shares = Has(Bug::kInsertsShare);
  for (;;) {
    if (checks_apart) {
      Segment* segment = Enter(hash, Access::kShared);
      const bool exists = Find(segment, hash, key) != nullptr;
      Leave(segment, Access::kShared);
      if (exists) return POWERCUT_EXISTS;
    }
    Segment* segment = shares ? Enter(hash, Access::kShared) : EnterToChange(hash);
    const bool exists = Exclusive() && !checks_apart && Find(segment, hash, key) != nullptr;
    const bool placed = !exists && Place(segment, hash, key, value);
    if (shares) {
      Leave(segment, Access::kShared);
    } else if (exists || placed || !Exclusive()) {
      LeaveChanged(segment);
    }
    if (exists) return POWERCUT_EXISTS;
    if (placed) return POWERCUT_OK;
    if (shares) segment = Enter(hash, Access::kAlone);
    const powercut_status status = Split(segment, hash);
    if (status != POWERCUT_OK) return status;
  }
}

powercut_status Table::Update(const uint8_t* key_bytes, const uint8_t* value_bytes) {
  const uint64_t key = Word(key_bytes), value = Word(value_bytes);
  if (IsReserved(key)) {
    const SpinGuard guard(LockOf(&Locks::reserved));
    ReservedItem* item = Reserved(key);
    if (item->present == 0) return POWERCUT_NOT_FOUND;
    pmem::atomic_store(&item->value, value);
    pmem::persist(&item->value, sizeof item->value);
    return POWERCUT_OK;
  }
  const uint64_t hash = HashOf(key);
  Segment* segment = EnterToChange(hash);
  Slot* slot = Find(segment, hash, key);
  const bool leaves_early = Has(Bug::kUnlockBeforeFlush);
  if (slot != nullptr) {
    pmem::mark("update");
    pmem::atomic_store(&slot->value, value);
    if (leaves_early) LeaveChanged(segment);
    SKIP_IF (Bug::kUpdateUnflushed) pmem::persist(&slot->value, sizeof slot->value);
  }
  if (slot == nullptr || !leaves_early) LeaveChanged(segment);
  return slot == nullptr ? POWERCUT_NOT_FOUND : POWERCUT_OK;
}

powercut_status Table::Erase(const uint8_t* key_bytes) {
  const uint64_t key = Word(key_bytes);
  if (IsReserved(key)) {
    const SpinGuard guard(LockOf(&Locks::reserved));
    ReservedItem* item = Reserved(key);
    if (item->present == 0) return POWERCUT_NOT_FOUND;
    pmem::atomic_store(&item->present, uint64_t{0});
    pmem::persist(&item->present, sizeof item->present);
    return POWERCUT_OK;
  }
  const uint64_t hash = HashOf(key);
  Segment* segment = EnterToChange(hash);
  Slot* slot = Find(segment, hash, key);
  const bool leaves_early = Has(Bug::kEraseUnlockedEarly);
  if (slot != nullptr) {
    pmem::mark("erase");
    pmem::atomic_store(&slot->key, kInvalid);
    if (leaves_early) LeaveChanged(segment);
    SKIP_IF (Bug::kEraseUnflushed) pmem::persist(&slot->key, sizeof slot->key);
  }
  if (slot == nullptr || !leaves_early) LeaveChanged(segment);
  return slot == nullptr ? POWERCUT_NOT_FOUND : POWERCUT_OK;
}

powercut_status Table::Lookup(const uint8_t* key_bytes, uint8_t* value) {
  const uint64_t key = Word(key_bytes);
  if (IsReserved(key)) {
    const SpinGuard guard(LockOf(&Locks::reserved));
    const ReservedItem* item = Reserved(key);
    if (item->present == 0) return POWERCUT_NOT_FOUND;
    std::memcpy(value, &item->value, sizeof item->value);
    return POWERCUT_OK;
  }
  const uint64_t hash = HashOf(key);
  if (AsAuthors()) return LookupAsAuthors(hash, key, value);
  const bool locks = Exclusive() && !Has(Bug::kGetUnlocked), leaves_early = Has(Bug::kUnlockBeforeCopy);
  Segment* segment = locks ? Enter(hash, Access::kShared) : Exclusive() ? Named(hash) : SegmentOf(EntryOf(hash));
  const Slot* slot = Find(segment, hash, key);
  if (leaves_early) Leave(segment, Access::kShared);
  if (slot != nullptr) std::memcpy(value, &slot->value, sizeof slot->value);
  if (locks && !leaves_early) Leave(segment, Access::kShared);
  return slot == nullptr ? POWERCUT_NOT_FOUND : POWERCUT_OK;
}

}  // namespace powercut::cceh

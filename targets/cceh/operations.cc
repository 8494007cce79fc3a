// The operations of the map. An item exists from the store of its slot's key on. A value of one word changes in place;
// items.cc has the life of an item out of the slots.
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

powercut_status Table::Insert(Bytes key, Bytes value) {
  const Sought sought = Seek(key);
  if (!HasPointers()) return InsertWord(sought, Word(value.data));
  const uint64_t item = NewItem(key, value, /*old=*/0);
  if (item == 0) return POWERCUT_FULL;
  const powercut_status status = InsertWord(sought, item);
  if (status != POWERCUT_OK) Free(item);
  DO_IF (Bug::kItemUnordered) pmem::persist(ItemAt(item), ItemAt(item)->bytes());
  return status;
}

// `value`: what the slot holds beside the key.
powercut_status Table::InsertWord(const Sought& sought, uint64_t value) {
  if (IsReserved(sought.word)) {
    const SpinGuard guard(LockOf(&Locks::reserved));
    ReservedItem* item = Reserved(sought.word);
    if (ChecksExists() && item->present != 0) return POWERCUT_EXISTS;
    // One line, as in a slot: the flag is never durable without its value.
    pmem::atomic_store(&item->value, value);
    pmem::atomic_store(&item->present, uint64_t{1});
    pmem::persist(item, sizeof *item);
    return POWERCUT_OK;
  }
  const uint64_t hash = sought.hash;
  const bool checks_apart = Has(Bug::kInsertCheckApart), shares = Has(Bug::kInsertsShare);
  for (;;) {
    if (checks_apart) {
      Segment* segment = Enter(hash, Access::kShared);
      const bool exists = Find(segment, sought) != nullptr;
      Leave(segment, Access::kShared);
      if (exists) return POWERCUT_EXISTS;
    }
    Segment* segment = shares ? Enter(hash, Access::kShared) : EnterToChange(hash);
    const bool exists = ChecksExists() && !checks_apart && Find(segment, sought) != nullptr;
    const bool placed = !exists && Place(segment, sought, value);
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

powercut_status Table::Update(Bytes key, Bytes value_bytes) {
  const Sought sought = Seek(key);
  if (IsReserved(sought.word)) {
    const SpinGuard guard(LockOf(&Locks::reserved));
    ReservedItem* item = Reserved(sought.word);
    if (item->present == 0) return POWERCUT_NOT_FOUND;
    pmem::atomic_store(&item->value, Word(value_bytes.data));
    pmem::persist(&item->value, sizeof item->value);
    return POWERCUT_OK;
  }
  Segment* segment = EnterToChange(sought.hash);
  Slot* slot = Find(segment, sought);
  if (slot != nullptr && HasPointers()) {
    const powercut_status status = Replace(slot, key, value_bytes);
    LeaveChanged(segment);
    return status;
  }
  const bool leaves_early = Has(Bug::kUnlockBeforeFlush);
  if (slot != nullptr) {
    const uint64_t value = Word(value_bytes.data);
    pmem::mark("update");
    pmem::atomic_store(&slot->value, value);
    if (leaves_early) LeaveChanged(segment);
    SKIP_IF (Bug::kUpdateUnflushed) pmem::persist(&slot->value, sizeof slot->value);
  }
  if (slot == nullptr || !leaves_early) LeaveChanged(segment);
  return slot == nullptr ? POWERCUT_NOT_FOUND : POWERCUT_OK;
}

powercut_status Table::Erase(Bytes key) {
  const Sought sought = Seek(key);
  if (IsReserved(sought.word)) {
    const SpinGuard guard(LockOf(&Locks::reserved));
    ReservedItem* item = Reserved(sought.word);
    if (item->present == 0) return POWERCUT_NOT_FOUND;
    pmem::atomic_store(&item->present, uint64_t{0});
    pmem::persist(&item->present, sizeof item->present);
    return POWERCUT_OK;
  }
  Segment* segment = EnterToChange(sought.hash);
  Slot* slot = Find(segment, sought);
  const bool leaves_early = Has(Bug::kEraseUnlockedEarly);
  if (slot != nullptr) {
    const uint64_t item = HasPointers() ? slot->value : 0;
    DO_IF (Bug::kItemEraseFreesFirst) Free(item);
    Change change(this, slot);
    pmem::mark("erase");
    pmem::atomic_store(&slot->key, kInvalid);
    if (leaves_early) LeaveChanged(segment);
    SKIP_IF (Bug::kEraseUnflushed) change.Commit(slot, 0);
    if (item != 0) pmem::mark("erase.unlinked");
    if (item != 0 && !Has(Bug::kItemEraseFreesFirst)) Free(item);
  }
  if (slot == nullptr || !leaves_early) LeaveChanged(segment);
  return slot == nullptr ? POWERCUT_NOT_FOUND : POWERCUT_OK;
}

powercut_status Table::Lookup(Bytes key, ValueRoom* value) {
  const Sought sought = Seek(key);
  if (IsReserved(sought.word)) {
    const SpinGuard guard(LockOf(&Locks::reserved));
    const ReservedItem* item = Reserved(sought.word);
    if (item->present == 0) return POWERCUT_NOT_FOUND;
    const uint64_t found = item->value;
    value->Put(BytesOf(found));
    return POWERCUT_OK;
  }
  const uint64_t hash = sought.hash;
  if (AsAuthors()) return LookupAsAuthors(sought, value);
  const bool locks = Exclusive() && !Has(Bug::kGetUnlocked), leaves_early = Has(Bug::kUnlockBeforeCopy);
  Segment* segment = locks ? Enter(hash, Access::kShared) : Exclusive() ? Named(hash) : SegmentOf(EntryOf(hash));
  const Slot* slot = Find(segment, sought);
  if (leaves_early) Leave(segment, Access::kShared);
  if (slot != nullptr) Answer(slot, value);
  if (locks && !leaves_early) Leave(segment, Access::kShared);
  return slot == nullptr ? POWERCUT_NOT_FOUND : POWERCUT_OK;
}

void Table::Answer(const Slot* slot, ValueRoom* value) const {
  const uint64_t found = slot->value;
  value->Put(HasPointers() ? ItemAt(found)->value() : BytesOf(found));
}

}  // namespace powercut::cceh

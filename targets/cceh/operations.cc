// The operations of the map. An item exists from the store of its key on; a value is one word and changes in place.
#include "targets/cceh/table.h"

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
    ReservedItem* item = Reserved(key);
    // One line, as in a slot: the flag is never durable without its value.
    pmem::atomic_store(&item->value, value);
    pmem::atomic_store(&item->present, uint64_t{1});
    pmem::persist(item, sizeof *item);
    return POWERCUT_OK;
  }
  const uint64_t hash = HashOf(key);
  for (;;) {
    const uint64_t entry = EntryOf(hash);
    Segment* segment = SegmentOf(entry);
    EnterShared(segment);
    const bool placed = Place(segment, hash, key, value);
    LeaveShared(segment);
    if (placed) return POWERCUT_OK;
    const powercut_status status = Split(entry);
    if (status != POWERCUT_OK) return status;
  }
}

powercut_status Table::Update(const uint8_t* key_bytes, const uint8_t* value_bytes) {
  const uint64_t key = Word(key_bytes), value = Word(value_bytes);
  if (IsReserved(key)) {
    ReservedItem* item = Reserved(key);
    if (item->present == 0) return POWERCUT_NOT_FOUND;
    pmem::atomic_store(&item->value, value);
    pmem::persist(&item->value, sizeof item->value);
    return POWERCUT_OK;
  }
  const uint64_t hash = HashOf(key);
  Segment* segment = SegmentOf(EntryOf(hash));
  EnterShared(segment);
  Slot* slot = Find(hash, key);
  if (slot != nullptr) {
    pmem::mark("update");
    pmem::atomic_store(&slot->value, value);
    if (!Has(Bug::kUpdateUnflushed)) pmem::persist(&slot->value, sizeof slot->value);
  }
  LeaveShared(segment);
  return slot == nullptr ? POWERCUT_NOT_FOUND : POWERCUT_OK;
}

powercut_status Table::Erase(const uint8_t* key_bytes) {
  const uint64_t key = Word(key_bytes);
  if (IsReserved(key)) {
    ReservedItem* item = Reserved(key);
    if (item->present == 0) return POWERCUT_NOT_FOUND;
    pmem::atomic_store(&item->present, uint64_t{0});
    pmem::persist(&item->present, sizeof item->present);
    return POWERCUT_OK;
  }
  const uint64_t hash = HashOf(key);
  Segment* segment = SegmentOf(EntryOf(hash));
  EnterShared(segment);
  Slot* slot = Find(hash, key);
  if (slot != nullptr) {
    pmem::mark("erase");
    pmem::atomic_store(&slot->key, kInvalid);
    if (!Has(Bug::kEraseUnflushed)) pmem::persist(&slot->key, sizeof slot->key);
  }
  LeaveShared(segment);
  return slot == nullptr ? POWERCUT_NOT_FOUND : POWERCUT_OK;
}

powercut_status Table::Lookup(const uint8_t* key_bytes, uint8_t* value) {
  const uint64_t key = Word(key_bytes);
  if (IsReserved(key)) {
    const ReservedItem* item = Reserved(key);
    if (item->present == 0) return POWERCUT_NOT_FOUND;
    std::memcpy(value, &item->value, sizeof item->value);
    return POWERCUT_OK;
  }
  const Slot* slot = Find(HashOf(key), key);
  if (slot == nullptr) return POWERCUT_NOT_FOUND;
  std::memcpy(value, &slot->value, sizeof slot->value);
  return POWERCUT_OK;
}

}  // namespace powercut::cceh

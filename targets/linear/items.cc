// Finding, inserting, updating and deleting. A slot's state is its commit: one word, stored when the item is durable.
#include "targets/common/planted_bugs.h"
#include "targets/linear/table.h"

namespace powercut::linear {

uint64_t Table::Find(const uint8_t* key) const {
  for (uint64_t i = 0, at = Home(key); i < slots() && StateOf(at) != kFree; ++i, at = Next(at)) {
    if (Holds(at, key)) return at;
  }
  return kNowhere;
}

// The first slot from the key's home on that holds no item. A tombstone is used again.
uint64_t Table::FindPlace(const uint8_t* key) const {
  for (uint64_t i = 0, at = Home(key); i < slots(); ++i, at = Next(at)) {
    if (StateOf(at) != kFull) return at;
  }
  return kNowhere;
}

// Writes an item into a slot that holds none.
void Table::Write(uint64_t slot, const uint8_t* key, const uint8_t* value) {
  std::memcpy(KeyOf(slot), key, options_.key_size);
  std::memcpy(ValueOf(slot), value, options_.value_size);
  SKIP_IF (Bug::kInsertOneFlush) pmem::persist(KeyOf(slot), stride() - sizeof(State));
  pmem::atomic_store(StateAt(slot), uint64_t{kFull});
  pmem::persist(At(slot), Has(Bug::kInsertOneFlush) ? stride() : sizeof(State));
}

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  if (Find(key) != kNowhere) return POWERCUT_EXISTS;
  if (options_.auto_expand && 4 * (used_ + 1) > 3 * slots()) {
    const powercut_status status = Expand();
    if (status != POWERCUT_OK) pmem::mark("expand.refused");  // the slots that are left will do
  }
  const uint64_t slot = FindPlace(key);
  if (slot == kNowhere) return POWERCUT_FULL;
  pmem::mark(StateOf(slot) == kErased ? "insert.tombstone" : slot < Home(key) ? "insert.wrapped" : "insert.free");
  used_ += StateOf(slot) == kFree ? 1 : 0;
  Write(slot, key, value);
  return POWERCUT_OK;
}

// A value of one word changes by one store. A longer value goes through the log.
powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  const uint64_t slot = Find(key);
  if (slot == kNowhere) return POWERCUT_NOT_FOUND;
  if (options_.value_size <= sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, value, options_.value_size);
    SetWord(reinterpret_cast<uint64_t*>(ValueOf(slot)), word);
    return POWERCUT_OK;
  }
  if (Has(Bug::kUpdateInPlace)) {
    std::memcpy(ValueOf(slot), value, options_.value_size);
    pmem::persist(ValueOf(slot), options_.value_size);
    return POWERCUT_OK;
  }
  std::memcpy(root()->log_value, value, options_.value_size);
  SKIP_IF (Bug::kLogUnordered) pmem::persist(root()->log_value, options_.value_size);
  SetWord(&root()->log_slot, 1 + slot);
  DO_IF (Bug::kLogUnordered) pmem::persist(root()->log_value, options_.value_size);
  ReplayLog();
  return POWERCUT_OK;
}

// May be repeated: the log is cleared when the slot has the value.
void Table::ReplayLog() {
  const uint64_t slot = root()->log_slot - 1;
  std::memcpy(ValueOf(slot), root()->log_value, options_.value_size);
  pmem::persist(ValueOf(slot), options_.value_size);
  pmem::mark("update.replayed");
  SetWord(&root()->log_slot, 0);
}

powercut_status Table::Erase(const uint8_t* key) {
  const uint64_t slot = Find(key);
  if (slot == kNowhere) return POWERCUT_NOT_FOUND;
  const bool frees = Has(Bug::kTombstoneForgotten) || (options_.shifts && Has(Bug::kShiftFreesFirst));
  DO_IF (Bug::kEraseNotFlushed) pmem::atomic_store(StateAt(slot), uint64_t{kErased});
  SKIP_IF (Bug::kEraseNotFlushed) SetState(slot, frees ? kFree : kErased);
  pmem::mark("erase");
  if (options_.shifts && !Has(Bug::kTombstoneForgotten)) Close(slot);
  return POWERCUT_OK;
}

// Backward shift: moves up the items behind a tombstone, until the tombstone stands before a free slot and is free
// itself. An item is in two slots while it moves, never in none; a search meets the new one first.
void Table::Close(uint64_t hole) {
  uint64_t at = Next(hole);
  for (uint64_t i = 1; i < slots() && StateOf(at) != kFree; ++i, at = Next(at)) {
    // The hole lies between the item's home and the item.
    if (StateOf(at) != kFull || Distance(Home(KeyOf(at)), at) < Distance(hole, at)) continue;
    DO_IF (Bug::kShiftClearsFirst) SetState(at, kErased);
    Write(hole, KeyOf(at), ValueOf(at));
    pmem::mark(at < hole ? "shift.wrapped" : "shift.copied");
    SetState(at, Has(Bug::kShiftFreesFirst) ? kFree : kErased);
    hole = at;
  }
  if (StateOf(at) != kFree && StateOf(hole) != kFree) return;  // no free slot: the hole stays a tombstone
  if (StateOf(hole) != kFree) SetState(hole, kFree);
  --used_;
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  const uint64_t slot = Find(key);
  if (slot == kNowhere) return POWERCUT_NOT_FOUND;
  std::memcpy(value, ValueOf(slot), options_.value_size);
  return POWERCUT_OK;
}

}  // namespace powercut::linear

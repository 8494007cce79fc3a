// Finding, inserting, displacing, updating and deleting. Every change is one store to the bitmap of one home.
#include "targets/common/planted_bugs.h"
#include "targets/hopscotch/table.h"

namespace powercut::hopscotch {

uint64_t Table::Find(const Array& array, const uint8_t* key) const {
  return ForEachOf(array, Home(array, key),
                   [&](uint64_t bucket) { return std::memcmp(KeyOf(array, bucket), key, options_.key_size) == 0; });
}

bool Table::IsUsed(const Array& array, uint64_t bucket) const {
  for (uint64_t i = 0; i < Reach(array); ++i) {
    if ((*HopAt(array, array.Before(bucket, i)) & Bit(i)) != 0) return true;
  }
  return false;
}

// A free bucket in the neighbourhood of a home. Where the next free one is farther away, items hop towards it.
uint64_t Table::FindRoom(const Array& array, uint64_t home) {
  uint64_t distance = 0;
  while (distance < array.count && IsUsed(array, array.Behind(home, distance))) ++distance;
  if (distance == array.count) return kNowhere;
  while (distance >= Reach(array)) {
    const uint64_t moved = MoveAway(array, array.Behind(home, distance));
    if (moved == 0) return kNowhere;
    distance -= moved;
  }
  return array.Behind(home, distance);
}

// Moves an item into the free bucket, from as far before it as can be; returns how far, 0 if no item can move. The copy
// is durable before the bitmap of the item's home changes. One store takes the new bucket and lets
// go of the old one.
uint64_t Table::MoveAway(const Array& array, uint64_t free) {
  for (uint64_t far = Reach(array) - 1; far != 0; --far) {
    uint64_t* hop = HopAt(array, array.Before(free, far));
    for (uint64_t near = 0; near < far; ++near) {
      if ((*hop & Bit(near)) == 0) continue;
      const uint64_t from = array.Before(free, far - near);
      const uint64_t after = (*hop & ~Bit(near)) | Bit(far);
      DO_IF (Bug::kMoveClearsFirst) SetWord(hop, *hop & ~Bit(near));
      Write(array, free, KeyOf(array, from), ValueOf(array, from), !Has(Bug::kMoveHopFirst));
      pmem::mark("move.copied");
      SetWord(hop, after);
      DO_IF (Bug::kMoveHopFirst) pmem::persist(KeyOf(array, free), stride() - sizeof(uint64_t));
      pmem::mark(free < from ? "move.wrapped" : "move.done");
      return far - near;
    }
  }
  return 0;
}

// Writes an item into a free bucket.
void Table::Write(const Array& array, uint64_t bucket, const uint8_t* key, const uint8_t* value, bool durable) {
  std::memcpy(KeyOf(array, bucket), key, options_.key_size);
  std::memcpy(ValueOf(array, bucket), value, options_.value_size);
  if (durable) pmem::persist(KeyOf(array, bucket), stride() - sizeof(uint64_t));
}

// A free bucket for an item of this key, in a larger table if need be.
powercut_status Table::MakeRoom(const uint8_t* key, uint64_t* bucket) {
  for (;;) {
    *bucket = FindRoom(Current(), Home(Current(), key));
    if (*bucket != kNowhere) return POWERCUT_OK;
    if (!options_.auto_expand) return POWERCUT_FULL;
    const powercut_status status = Expand();
    if (status != POWERCUT_OK) return status;
  }
}

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  if (Find(Current(), key) != kNowhere) return POWERCUT_EXISTS;
  uint64_t bucket = kNowhere;
  const powercut_status status = MakeRoom(key, &bucket);
  if (status != POWERCUT_OK) return status;
  const Array array = Current();
  const uint64_t home = Home(array, key);
  uint64_t* hop = HopAt(array, home);
  const uint64_t after = *hop | Bit(Distance(array, home, bucket));
  pmem::mark(bucket < home ? "insert.wrapped" : bucket == home ? "insert.home" : "insert.near");
  DO_IF (Bug::kInsertHopFirst) SetWord(hop, after);
  Write(array, bucket, key, value, true);
  DO_IF (Bug::kInsertNotFlushed) pmem::atomic_store(hop, after);
  SKIP_IF (Bug::kInsertNotFlushed) SetWord(hop, after);
  return POWERCUT_OK;
}

// A value of one word changes by one store. An item with a longer value is written anew beside the old one.
powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  uint64_t old = Find(Current(), key);
  if (old == kNowhere) return POWERCUT_NOT_FOUND;
  if (options_.value_size <= sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, value, options_.value_size);
    SetWord(reinterpret_cast<uint64_t*>(ValueOf(Current(), old)), word);
    return POWERCUT_OK;
  }
  if (Has(Bug::kUpdateInPlace)) {
    std::memcpy(ValueOf(Current(), old), value, options_.value_size);
    pmem::persist(ValueOf(Current(), old), options_.value_size);
    return POWERCUT_OK;
  }
  uint64_t bucket = kNowhere;
  const powercut_status status = MakeRoom(key, &bucket);
  if (status != POWERCUT_OK) return status;
  const Array array = Current();
  const uint64_t home = Home(array, key);
  old = Find(array, key);  // the item may have hopped itself
  uint64_t* hop = HopAt(array, home);
  const uint64_t after = (*hop & ~Bit(Distance(array, home, old))) | Bit(Distance(array, home, bucket));
  Write(array, bucket, key, value, true);
  DO_IF (Bug::kUpdateTwoWrites) SetWord(hop, *hop & ~Bit(Distance(array, home, old)));
  SetWord(hop, after);
  pmem::mark("update.switched");
  return POWERCUT_OK;
}

powercut_status Table::Erase(const uint8_t* key) {
  const Array array = Current();
  const uint64_t bucket = Find(array, key), home = Home(array, key);
  if (bucket == kNowhere) return POWERCUT_NOT_FOUND;
  uint64_t* hop = HopAt(array, home);
  const uint64_t after = *hop & ~Bit(Distance(array, home, bucket));
  DO_IF (Bug::kEraseNotFlushed) pmem::atomic_store(hop, after);
  SKIP_IF (Bug::kEraseNotFlushed) SetWord(hop, after);
  pmem::mark("erase");
  return POWERCUT_OK;
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  const Array array = Current();
  const uint64_t bucket = Find(array, key);
  if (bucket == kNowhere) return POWERCUT_NOT_FOUND;
  std::memcpy(value, ValueOf(array, bucket), options_.value_size);
  return POWERCUT_OK;
}

}  // namespace powercut::hopscotch

// Insertion: a free slot of the two buckets, else one is made free by evictions, else the stash.
#include "targets/common/cuckoo/table.h"

namespace powercut::cuckoo {

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  Item item;
  std::memcpy(item.bytes, key, geometry_.key_size);
  std::memcpy(item.bytes + geometry_.key_size, value, geometry_.value_size);
  if (locks_ != nullptr) return InsertBesideOthers(item);
  while (!PlaceItem(&arrays_[0], item)) {
    if (!options_.auto_expand) return POWERCUT_FULL;
    const powercut_status status = Expand();
    if (status != POWERCUT_OK) return status;
  }
  return POWERCUT_OK;
}

bool Table::PlaceItem(const SlotArray* array, const Item& item) {
  const Probe probe = ProbeOf(item.bytes);
  if (PlaceInBuckets(array, item, probe)) return true;
  if (options_.kick_out) return PlaceByKickOut(array, item, probe);
  return PlaceByPath(array, item, probe) || PlaceInStash(array, item, probe);
}

bool Table::PlaceInBuckets(const SlotArray* array, const Item& item, const Probe& probe) {
  for (int which = 0; which < 2; ++which) {
    Place place{array, Home(*array, probe, which), 0};
    if (!FindFree(&place)) continue;
    Mark(*array, "insert.free");
    Fill(place, item, probe, Bug::kInsertUnordered);
    return true;
  }
  return false;
}

// Log-free insertion with evictions (OSDI 2018, 3.3, "log-free insertion ... with iterative eviction operations"):
// the path is known before anything moves; items move from its end backwards, each into a slot that is free.
bool Table::PlaceByPath(const SlotArray* array, const Item& item, const Probe& probe) {
  Path path;
  if (!FindPath(array, probe, &path)) return false;
  Mark(*array, path.length > 2 ? "insert.path" : "insert.evict");
  const auto at = [&](uint32_t i) { return Place{array, path.step[i].index, path.step[i].slot}; };
  for (uint32_t i = path.length - 1; i > 0; --i) Move(at(i - 1), at(i), Bug::kMoveClearFirst, "evict.step");
  Fill(at(0), item, probe, Bug::kPathEndUnordered);
  return true;
}

// As in DRAM: the item is written over a victim, which is carried to its other bucket, and so on. Until the last
// victim is placed, one item exists in a register only.
bool Table::PlaceByKickOut(const SlotArray* array, const Item& item, const Probe& probe) {
  Path trail;
  uint64_t random = probe.hash[0] ^ probe.hash[1];
  const uint32_t slots = geometry_.bucket.slots;
  Item carried = item;
  // With one slot a bucket, the walk begins in the first table (conventional cuckoo hashing).
  uint64_t index = Home(*array, probe, slots == 1 ? 0 : static_cast<int>(random & 1));
  while (trail.length < options_.limit) {
    random = Mix(random + 0x9e3779b97f4a7c15);
    const Place victim{array, index, static_cast<uint32_t>(random % slots)};
    const Item evicted = Load(victim);
    const uint64_t next = Alternative(victim);
    Overwrite(victim, carried);
    Mark(*array, "evict.step");
    trail.Add(victim.index, victim.slot);
    carried = evicted;
    index = next;
    Place place{array, index, 0};
    if (!FindFree(&place)) continue;
    Mark(*array, trail.length > 1 ? "insert.path" : "insert.evict");
    Fill(place, carried, ProbeOf(carried.bytes), Bug::kInsertUnordered);
    return true;
  }
  if (PlaceInStash(array, carried, ProbeOf(carried.bytes))) return true;
  // No place: the evictions are taken back, since an insert that fails has changed nothing.
  Mark(*array, "evict.back");
  while (trail.length > 0) {
    const Path::Step step = trail.step[--trail.length];
    const Place victim{array, step.index, step.slot};
    const Item evicted = Load(victim);
    Overwrite(victim, carried);
    carried = evicted;
  }
  return false;
}

bool Table::PlaceInStash(const SlotArray* array, const Item& item, const Probe& probe) {
  if (!geometry_.has_stash()) return false;
  Place place{array, Buckets(*array), 0};
  if (!FindFree(&place)) return false;
  Mark(*array, "insert.stash");
  Fill(place, item, probe, Bug::kStashUnordered);
  return true;
}

}  // namespace powercut::cuckoo

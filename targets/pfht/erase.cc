// Search and log-free deletion (OSDI'18, 3.3(1)).
#include <cstring>

#include "targets/common/planted_bugs.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {

Place Table::Find(const uint8_t* key) const {
  Place found;
  ForEachPlace(key, [&](const Place& place) {
    found = place;
    return true;
  });
  return found;
}

Place Table::FindOtherCopy(const uint8_t* key, const uint8_t* item) const {
  Place found;
  ForEachPlace(key, [&](const Place& place) {
    if (place.item == item) return false;
    found = place;
    return true;
  });
  return found;
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  const Place place = Find(key);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  std::memcpy(value, place.item + options_.key_size, options_.value_size);
  return POWERCUT_OK;
}

powercut_status Table::Erase(const uint8_t* key) {
  Place place = Find(key);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  pmem::mark("erase");
  Remove(place);
  // The paper deletes "the" item, and is silent about a second copy that a power cut during a displacement left behind.
  // The second copy would bring the item back. Until the last one is gone, the erase has not happened.
  if (!options_.hardened || Has(Bug::kEraseFirstCopy)) return POWERCUT_OK;
  for (place = Find(key); place.found(); place = Find(key)) {
    pmem::mark("erase.duplicate");
    Remove(place);
  }
  return POWERCUT_OK;
}

void Table::Remove(const Place& place) {
  if (place.bucket != nullptr) {
    Clear(place.bucket, place.slot);
  } else {
    Unlink(place);
  }
}

// One store takes the node out of its chain; the block is freed only after the store is durable. A cut in between
// leaves a block that nobody reaches, and open frees it.
void Table::Unlink(const Place& place) {
  pmem::mark("erase.stash");
  uint64_t* link = place.link;
  const uint64_t offset = *link;
  const uint64_t rest = NodeAt(offset)->next;
  DO_IF (Bug::kStashFreeFirst) allocator_.Free(offset);
  DO_IF (Bug::kStashCutChain) pmem::atomic_store(link, uint64_t{0});
  DO_IF (Bug::kStashCutChain) pmem::persist(link, sizeof *link);
  pmem::atomic_store(link, rest);
  pmem::persist(link, sizeof *link);
  pmem::mark("erase.unlinked");
  SKIP_IF (Bug::kStashFreeFirst) allocator_.Free(offset);
  if (place.stash_of == &body_) --body_.stash_items;
}

}  // namespace powercut::pfht

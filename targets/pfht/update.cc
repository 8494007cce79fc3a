// Update (OSDI'18, 3.3(4)): through the undo log as in the paper's evaluation (4.2.3), or log-free within a bucket, as
// it says that PFHT could.
#include "targets/common/planted_bugs.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {

powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  const Place place = Find(key);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  // "If the updated item has two copies in the hash table, we first delete one and then update the other."
  // Order matters: two copies with different values would make the answer depend on the search order.
  for (Place other = FindOtherCopy(key, place.item); other.found() && !Has(Bug::kUpdateFirstCopy);
       other = FindOtherCopy(key, place.item)) {
    pmem::mark("update.duplicate");
    Remove(other);
  }
  const TokenItem item = bucket_.MakeItem(key, value);
  if (options_.update == UpdateKind::kOpportunistic && place.bucket != nullptr) {
    const uint32_t tokens = Tokens(place.bucket);
    if (tokens != bucket_.full()) {
      UpdateLogFree(place, static_cast<uint32_t>(std::countr_one(tokens)), item.bytes);
      return POWERCUT_OK;
    }
  }
  if (place.bucket == nullptr) pmem::mark("update.stash");
  Overwrite(place.item, item.bytes, options_.update == UpdateKind::kAtomic ? InPlace::kAtomic : InPlace::kLogged);
  return POWERCUT_OK;
}

// Writes the new item beside the old one, then switches both tokens by one atomic store.
void Table::UpdateLogFree(const Place& place, uint32_t slot, const uint8_t* item) const {
  pmem::mark("update.logfree");
  uint8_t* target = bucket_.Slot(place.bucket, slot);
  bucket_.Copy(target, item);
  SKIP_IF (Bug::kUpdateUnordered) PersistItem(target);
  const uint32_t without_old = Tokens(place.bucket) & ~(1u << place.slot);
  DO_IF (Bug::kUpdateTwoWrites) bucket_.StoreTokens(place.bucket, without_old);
  DO_IF (Bug::kUpdateTwoWrites) bucket_.PersistTokens(place.bucket);
  bucket_.StoreTokens(place.bucket, without_old | 1u << slot);
  bucket_.PersistTokens(place.bucket);
  DO_IF (Bug::kUpdateUnordered) PersistItem(target);
}

}  // namespace powercut::pfht

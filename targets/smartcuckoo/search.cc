// Lookup: two probes, as in every cuckoo hash table (2.1); then the stash, as in CHS (1).
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {

uint32_t Table::FindBucket(const uint8_t* key) const {
  const Positions at = PositionsOf(key);
  if (Holds(at.first, key)) return at.first;
  if (Holds(at.second, key)) return at.second;
  for (uint32_t b = directory_.buckets(); b < Places(directory_); ++b) {
    if (Holds(b, key)) return b;
  }
  return Forest::kNone;
}

// Only moves leave a second copy, and no item moves into the stash or out of it.
uint32_t Table::FindDuplicate(uint32_t b) const {
  if (InStash(b)) return Forest::kNone;
  const uint32_t other = PositionsOf(b).Other(b);
  return Holds(other, geometry_.Key(Bucket(b))) ? other : Forest::kNone;
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  const uint32_t b = FindBucket(key);
  if (b == Forest::kNone) return POWERCUT_NOT_FOUND;
  std::memcpy(value, Bucket(b), geometry_.value_size);
  return POWERCUT_OK;
}

}  // namespace powercut::smartcuckoo

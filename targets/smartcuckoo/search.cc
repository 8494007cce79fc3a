// Lookup: two probes, as in every cuckoo hash table (2.1).
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {

uint32_t Table::FindBucket(const uint8_t* key) const {
  const Positions at = PositionsOf(key);
  if (Holds(at.first, key)) return at.first;
  return Holds(at.second, key) ? at.second : Forest::kNone;
}

uint32_t Table::FindDuplicate(uint32_t b) const {
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

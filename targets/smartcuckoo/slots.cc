// The persistent steps that every operation is made of: the log-free insertion and deletion of Level hashing
// (OSDI'18, 3.3), one token a bucket.
#include "targets/common/planted_bugs.h"
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {

Item Table::MakeItem(const uint8_t* key, const uint8_t* value) const {
  Item item;
  std::memcpy(item.bytes, value, geometry_.value_size);
  std::memcpy(item.bytes + geometry_.value_size, key, geometry_.key_size);
  return item;
}

// An item may straddle two lines; both must be written back.
void Table::PersistItem(const uint8_t* bucket) const {
  DO_IF (Bug::kTokenLineOnly) return;
  pmem::persist(bucket, geometry_.token_at);
}

void Table::SetToken(uint32_t b, uint8_t token) const {
  uint8_t* at = Bucket(b) + geometry_.token_at;
  pmem::atomic_store(at, token);
  if (InStash(b) && Has(Bug::kStashUnflushed)) return;
  pmem::persist(at, 1);
}

// Precondition: the bucket is vacant.
void Table::Fill(uint32_t b, const uint8_t* item) const {
  uint8_t* bucket = Bucket(b);
  DO_IF (Bug::kTokenFirst) SetToken(b, 1);
  std::memcpy(bucket, item, geometry_.token_at);
  PersistItem(bucket);
  SKIP_IF (Bug::kTokenFirst) SetToken(b, 1);
}

}  // namespace powercut::smartcuckoo

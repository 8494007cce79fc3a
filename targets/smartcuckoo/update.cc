// Update. The paper says no more than that its cost is similar to that of a lookup (section 4, YCSB), so `published`
// overwrites in place. A bucket has one slot, so the log-free update of Level hashing has no place to go to, and
// `hardened` takes its other half: log the old value, then overwrite (OSDI'18, 3.3(4)).
#include "targets/common/planted_bugs.h"
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {

powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  const uint32_t b = FindBucket(key);
  if (b == Forest::kNone) return POWERCUT_NOT_FOUND;
  // "When updating this item, one of the two items is first deleted and the other one is then updated."
  if (options_.hardened && !Has(Bug::kUpdateFirstCopy)) {
    const uint32_t duplicate = FindDuplicate(b);
    if (duplicate != Forest::kNone) {
      pmem::mark("update.duplicate");
      Clear(duplicate);
    }
  }
  uint8_t* bucket = Bucket(b);
  if (geometry_.value_size <= sizeof(uint64_t)) {
    pmem::mark("update.atomic");
    uint64_t word;  // the value, and what stands behind it
    std::memcpy(&word, bucket, sizeof word);
    std::memcpy(&word, value, geometry_.value_size);
    pmem::atomic_store(reinterpret_cast<uint64_t*>(bucket), word);
    pmem::persist(bucket, geometry_.value_size);
    return POWERCUT_OK;
  }
  const bool logged = options_.hardened && !Has(Bug::kUpdateUnlogged);
  Root* log = root();
  if (logged) {
    std::memcpy(log->log_value, bucket, geometry_.value_size);
    SKIP_IF (Bug::kLogUnordered) pmem::persist(log->log_value, geometry_.value_size);
    pmem::atomic_store(&log->log_bucket, static_cast<uint64_t>(bucket - pool_.base));
    pmem::persist(&log->log_bucket, sizeof log->log_bucket);
    DO_IF (Bug::kLogUnordered) pmem::persist(log->log_value, geometry_.value_size);
  }
  std::memcpy(bucket, value, geometry_.value_size);
  pmem::persist(bucket, geometry_.value_size);
  pmem::mark("update.overwritten");
  if (logged) {
    pmem::atomic_store(&log->log_bucket, uint64_t{0});
    pmem::persist(&log->log_bucket, sizeof log->log_bucket);
  }
  return POWERCUT_OK;
}

}  // namespace powercut::smartcuckoo

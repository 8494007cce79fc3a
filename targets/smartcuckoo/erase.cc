// Deletion: Algorithm 5, and the log-free deletion of Level hashing (3.3(1)).
#include "targets/common/planted_bugs.h"
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {

powercut_status Table::Erase(const uint8_t* key) {
  const uint32_t b = FindBucket(key);
  if (b == Forest::kNone) return POWERCUT_NOT_FOUND;
  pmem::mark("erase");
  if (InStash(b)) {
    pmem::mark("erase.stash");
    Clear(b);
    return POWERCUT_OK;
  }
  // Two copies are never in the forest: Learn drops one of them.
  const uint32_t duplicate = options_.hardened && !Has(Bug::kEraseFirstCopy) ? FindDuplicate(b) : Forest::kNone;
  DO_IF (Bug::kEraseUnflushed) pmem::atomic_store(Bucket(b) + geometry_.token_at, uint8_t{0});
  SKIP_IF (Bug::kEraseUnflushed) Clear(b);
  if (duplicate != Forest::kNone) {
    pmem::mark("erase.duplicate");
    Clear(duplicate);
  }
  if (forest_.Backup(b) != Forest::kNone) pmem::mark(forest_.Unlink(b) ? "erase.separated" : "erase.cycle_opened");
  return POWERCUT_OK;
}

}  // namespace powercut::smartcuckoo

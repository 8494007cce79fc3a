// Bucket locks that threads compete for.
#include "targets/dash/table.h"

namespace powercut::dash {

bool Table::TryLock(Segment* segment, uint32_t bucket) {
  uint32_t* lock = &segment->bucket(bucket)->lock;
  uint32_t seen = pmem::atomic_load(lock);
  return (seen & Bucket::kLocked) == 0 &&
         __atomic_compare_exchange_n(lock, &seen, seen | Bucket::kLocked, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void Table::Lock(Segment* segment, uint32_t bucket) {
  if (!options_.concurrent || Has(Bug::kLockByStore)) return SegmentSteps::Lock(segment, bucket);
  AwaitUnlocked(segment, bucket);
  while (!TryLock(segment, bucket)) AwaitUnlocked(segment, bucket);
}

}  // namespace powercut::dash

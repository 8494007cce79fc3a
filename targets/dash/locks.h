// Locks of the threads of one open table (concurrency=concurrent; README.md, "Threads"). These locks are volatile: no
// power cut leaves a lock held. The locks of buckets lie in the pool, as in the authors' code.
//
// Order. The recovery of segments comes before buckets. Buckets are taken in ascending order, buckets of a new segment
// after buckets of the segment that splits. Then come the directory and memory.
#ifndef POWERCUT_TARGETS_DASH_LOCKS_H_
#define POWERCUT_TARGETS_DASH_LOCKS_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "targets/common/spin_guard.h"

namespace powercut::dash {

struct Locks {
  uint8_t recovery = 0;   // of any segment
  uint8_t directory = 0;  // its entries, and its doubling
  uint8_t memory = 0;     // the allocator, and the list of segments
};

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_LOCKS_H_

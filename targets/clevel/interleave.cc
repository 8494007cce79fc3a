// Steps of the paper's other threads inside an operation of the one thread. The paper's context checks and its
// rehashing-aware scheme exist for these interleavings (3.2). The steps run on one thread and at the same place every
// time.
#include <utility>

#include "targets/clevel/table.h"

namespace powercut::clevel {

// Adds a level, unless a resize is on its way, and rehashes the first bucket. The bucket is not rehashed if the step
// would take the level away: readers do not protect the levels that they read (README, "Waiting for threads").
void Table::ExpandMeanwhile(bool paused) {
  if (Load(&rehasher_).is_resizing || Expand(&rehasher_, paused) != POWERCUT_OK || paused) return;
  if (rehasher_.view.last().buckets() > 1) RehashBucket(&rehasher_, 0);
}

// The rehashing thread has read the next item, and copied it (Fig. 4) or not, when it loses the CPU.
void Table::PauseRehash(bool copied) {
  const View& view = Load(&rehasher_);
  const uint64_t index = pmem::atomic_load(&root()->rehashed);
  if (!view.is_resizing || index >= view.last().buckets()) return;
  uint64_t* bucket = view.last().slots + index * options_.slots;
  for (uint32_t s = 0; s < options_.slots; ++s) {
    const uint64_t word = pmem::atomic_load(&bucket[s]);
    if (word == 0) continue;
    if (copied) {
      paused_slot_ = &bucket[s];
      const bool done = RehashItem(&rehasher_, paused_slot_, word) == POWERCUT_OK;
      if (!done || pmem::atomic_load(paused_slot_) == 0) paused_slot_ = nullptr;
    } else {
      paused_slot_ = &bucket[s];
      paused_word_ = word;
    }
    return;
  }
}

void Table::ResumeRehash() {
  uint64_t* slot = std::exchange(paused_slot_, nullptr);
  const uint64_t word = std::exchange(paused_word_, 0);
  if (slot == nullptr) return;
  pmem::mark("rehash.resumed");
  if (word == 0) {
    ClearSlot(slot);
  } else {
    RehashItem(&rehasher_, slot, word);
  }
}

void Table::ResumePublication() {
  if (paused_context_ == 0) return;
  pmem::persist(&root()->context, sizeof(uint64_t));
  rehasher_.view.is_durable = true;
  EndPublication(&rehasher_, paused_context_, /*old_level=*/0);
  paused_context_ = 0;
  ShareView(rehasher_, &worker_);
}

}  // namespace powercut::clevel

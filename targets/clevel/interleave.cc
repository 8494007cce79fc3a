// Steps of the paper's other threads inside an operation of this one: the interleavings that its context checks and
// its rehashing-aware scheme are for (3.2), made to happen on one thread and at the same place every time.
#include "targets/clevel/table.h"

namespace powercut::clevel {

// A level is added, and the first bucket rehashed, unless a resize is on its way.
void Table::ExpandMeanwhile(bool paused) {
  if (Load(&rehasher_).is_resizing || Expand(&rehasher_, paused) != POWERCUT_OK || paused) return;
  if (IsInterleaved(Interleave::kExpandInSearch)) RehashBucket();
}

// The rehashing thread has copied the next item, and loses the CPU before it clears the old slot.
void Table::PauseRehashAfterCopy() {
  const View& view = Load(&rehasher_);
  const uint64_t index = pmem::atomic_load(&root()->rehashed);
  if (!view.is_resizing || index >= view.last().buckets()) return;
  uint64_t* bucket = view.last().slots + index * options_.slots;
  for (uint32_t s = 0; s < options_.slots; ++s) {
    const uint64_t word = pmem::atomic_load(&bucket[s]);
    if (word == 0) continue;
    paused_slot_ = &bucket[s];
    if (RehashItem(paused_slot_, word) != POWERCUT_OK || pmem::atomic_load(paused_slot_) == 0) paused_slot_ = nullptr;
    return;
  }
}

void Table::ResumeRehash() {
  if (paused_slot_ == nullptr) return;
  pmem::mark("rehash.resumed");
  ClearSlot(paused_slot_);
  paused_slot_ = nullptr;
}

void Table::ResumePublication() {
  if (paused_context_ == 0) return;
  pmem::persist(&root()->context, sizeof(uint64_t));
  rehasher_.view.is_durable = true;
  EndPublication(rehasher_, paused_context_, /*old_level=*/0);
  paused_context_ = 0;
  ShareView(rehasher_, &worker_);
}

}  // namespace powercut::clevel

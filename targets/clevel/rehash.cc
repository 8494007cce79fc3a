// Rehashing: steps 4 and 5 of a resize (3.1.2), a bucket at a time, by the rehashing thread.
#include "targets/clevel/table.h"

namespace powercut::clevel {

powercut_status Table::RehashBucket() {
  const View& view = Load(&rehasher_);
  if (!view.is_resizing) return POWERCUT_OK;
  const uint64_t index = pmem::atomic_load(&root()->rehashed);
  if (Has(Bug::kIndexBeforeItems)) StoreRehashed(index + 1);
  // A cut between the last bucket and step 5 may leave an index past the end.
  if (index < view.last().buckets()) {
    uint64_t* bucket = view.last().slots + index * options_.slots;
    for (uint32_t s = 0; s < options_.slots; ++s) {
      const uint64_t word = pmem::atomic_load(&bucket[s]);
      if (word == 0) continue;
      const powercut_status status = RehashItem(&bucket[s], word);
      if (status != POWERCUT_OK) return status;
    }
  }
  return EndBucket(index);
}

// Step 4: copy the pointer by CAS, clear the old slot without one.
powercut_status Table::RehashItem(uint64_t* slot, uint64_t word) {
  const Probe probe(KeyOf(word), options_.key_size);
  if (options_.hardened && IsCopied(rehasher_.view, word)) {
    pmem::mark("rehash.duplicate");
    ClearSlot(slot);
    return POWERCUT_OK;
  }
  if (Has(Bug::kRehashClearFirst)) ClearSlot(slot);
  for (;;) {
    const Place place = FindVacancy(rehasher_.view, probe, rehasher_.view.count - 1);
    if (!place.found()) {
      // "If no empty slot is found, go to step 2 to expand the table."
      pmem::mark("rehash.expand");
      const powercut_status status = Expand(&rehasher_);
      if (status != POWERCUT_OK) return status;
      continue;
    }
    uint64_t expected = 0;
    if (__atomic_compare_exchange_n(place.slot, &expected, word, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      pmem::persist(place.slot, sizeof(uint64_t));
      break;
    }
  }
  pmem::mark("rehash.copied");
  if (!Has(Bug::kRehashClearFirst) && paused_slot_ == nullptr) ClearSlot(slot);
  return POWERCUT_OK;
}

// An earlier cut, or an insertion that was redone, has left the same pointer in a higher level. The paper copies it
// once more, so that every cut can add a slot.
bool Table::IsCopied(const View& view, uint64_t word) const {
  const Probe probe(KeyOf(word), options_.key_size);
  return Find(view, KeyOf(word), probe, /*from_level=*/1).word == word;
}

powercut_status Table::EndBucket(uint64_t index) {
  const uint64_t buckets = rehasher_.view.last().buckets();
  const bool at_end = index + 1 >= buckets;
  pmem::mark("rehash.bucket");
  if (!at_end) {
    if (!Has(Bug::kIndexBeforeItems)) StoreRehashed(index + 1);
    return POWERCUT_OK;
  }
  // The level is empty. Reset first: a cut in between rehashes empty buckets again. The other way round (the paper is
  // silent, its released code does it) the cut leaves an index into the next level whose buckets were never rehashed.
  const bool context_first = !options_.hardened || Has(Bug::kIndexAfterContext);
  StoreRehashed(context_first ? buckets : 0);
  if (!RemoveLast()) return POWERCUT_FULL;
  if (context_first) StoreRehashed(0);
  return POWERCUT_OK;
}

// Step 5.
bool Table::RemoveLast() {
  const View& view = rehasher_.view;
  const uint64_t old = view.last().offset;
  const bool is_resizing = view.count - 1 > 2;
  if (!Publish(&rehasher_, {view.first().offset, view.levels[1].offset, is_resizing ? 1u : 0u}, old)) return false;
  pmem::mark("rehash.done");
  return true;
}

void Table::StoreRehashed(uint64_t count) {
  if (root()->rehashed == count) return;
  pmem::atomic_store(&root()->rehashed, count);
  pmem::persist(&root()->rehashed, sizeof(uint64_t));
}

// The rehashing thread runs in the background: what it cannot do now for want of room it tries again later.
void Table::AutoRehash() {
  if (paused_context_ != 0) return;  // the rehashing thread does not have the CPU
  ShareView(worker_, &rehasher_);
  for (uint32_t i = 0; i < options_.auto_rehash && rehasher_.view.is_resizing; ++i) {
    if (RehashBucket() != POWERCUT_OK) break;
  }
  ShareView(rehasher_, &worker_);
}

}  // namespace powercut::clevel

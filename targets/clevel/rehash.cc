// Rehashing: steps 4 and 5 of a resize (3.1.2), a bucket at a time, by the rehashing thread.
#include "targets/clevel/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::clevel {

powercut_status Table::RehashBucket(Thread* thread, uint32_t number) {
  const View& view = Load(thread);
  if (!view.is_resizing) return options_.concurrent ? POWERCUT_NOT_FOUND : POWERCUT_OK;
  const uint64_t rehashed = pmem::atomic_load(RehashedWord(number));
  const uint64_t index = number + rehashed * strides();
  DO_IF (Bug::kIndexBeforeItems) StoreRehashed(number, rehashed + 1);
  // A cut between the last bucket and step 5 may leave an index past the end.
  if (index < view.last().buckets()) {
    uint64_t* bucket = view.last().slots + index * options_.slots;
    for (uint32_t s = 0; s < options_.slots; ++s) {
      const uint64_t word = pmem::atomic_load(&bucket[s]);
      if (word == 0) continue;
      const powercut_status status = RehashItem(thread, &bucket[s], word);
      if (status != POWERCUT_OK) return status;
    }
  }
  return EndBucket(thread, number, rehashed);
}

// Step 4: copy the pointer by CAS, clear the old slot without one.
powercut_status Table::RehashItem(Thread* thread, uint64_t* slot, uint64_t word) {
  const View& view = thread->view;
  const Probe probe(KeyOf(word));
  if (options_.hardened && IsCopied(view, word)) {
    pmem::mark("rehash.duplicate");
    ClearSlot(slot);
    return POWERCUT_OK;
  }
  DO_IF (Bug::kRehashClearFirst) ClearSlot(slot);
  for (;;) {
    const Place place = FindVacancy(view, probe, view.count - 1);
    if (!place.found()) {
      // "If no empty slot is found, go to step 2 to expand the table."
      pmem::mark("rehash.expand");
      const powercut_status status = Expand(thread);
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
  const Probe probe(KeyOf(word));
  return Find(view, KeyOf(word), probe, /*from_level=*/1).word == word;
}

powercut_status Table::EndBucket(Thread* thread, uint32_t number, uint64_t rehashed) {
  const Level last = thread->view.last();
  const uint64_t next = number + (rehashed + 1) * strides();
  pmem::mark("rehash.bucket");
  if (next < last.buckets()) {
    SKIP_IF (Bug::kIndexBeforeItems) StoreRehashed(number, rehashed + 1);
    return POWERCUT_OK;
  }
  if (options_.concurrent) {
    // "After both rehashing threads finish, they update the global context following step 5."
    if (!IsDone(number, last)) StoreRehashed(number, rehashed + 1);
    if (!AreAllDone(last)) return POWERCUT_OK;
    if (!RemoveLast(thread)) return POWERCUT_FULL;
    for (uint32_t other = 0; other < strides(); ++other) StoreRehashed(other, 0);
    return POWERCUT_OK;
  }
  // The level is empty. Reset first: a cut in between rehashes empty buckets again. In the other order the cut leaves
  // an index into the next level, whose buckets were never rehashed. The paper is silent about the order; its released
  // code has the other order.
  const bool context_first = !options_.hardened || Has(Bug::kIndexAfterContext);
  StoreRehashed(number, context_first ? last.buckets() : 0);
  if (!RemoveLast(thread)) return POWERCUT_FULL;
  if (context_first) StoreRehashed(number, 0);
  return POWERCUT_OK;
}

// Step 5. "If the CAS fails, try again if the last level in current context is unmodified."
bool Table::RemoveLast(Thread* thread) {
  const View& view = thread->view;
  const uint64_t old = view.last().offset;
  for (;;) {
    const bool is_resizing = view.count - 1 > 2;
    const Context next = {view.first().offset, view.levels[1].offset, is_resizing ? 1u : 0u};
    const Published published = Publish(thread, next, old);
    if (published == Published::kNoRoom) return false;
    if (published == Published::kYes) break;
    if (Load(thread).last().offset != old) return true;
  }
  pmem::mark("rehash.done");
  return true;
}

uint64_t Table::RehashedOf(uint32_t number, const Level& last) const {
  const uint64_t word = pmem::atomic_load(RehashedWord(number));
  if (!MarksSlots()) return word;
  return word >> kOffsetBits == last.log2() ? word & kCountMask : 0;
}

bool Table::AreAllDone(const Level& last) const {
  for (uint32_t number = 0; number < strides(); ++number) {
    if (!IsDone(number, last)) return false;
  }
  return true;
}

void Table::StoreRehashed(uint32_t number, uint64_t count) {
  uint64_t* word = RehashedWord(number);
  if (pmem::atomic_load(word) == count) return;
  pmem::atomic_store(word, count);
  pmem::persist(word, sizeof(uint64_t));
}

// The rehashing thread runs in the background: if it lacks room for a step, it tries the step again later.
void Table::AutoRehash() {
  if (options_.concurrent) return;
  if (paused_context_ != 0) return;  // the rehashing thread does not have the CPU
  ShareView(worker_, &rehasher_);
  for (uint32_t i = 0; i < options_.auto_rehash && rehasher_.view.is_resizing; ++i) {
    if (RehashBucket(&rehasher_, 0) != POWERCUT_OK) break;
  }
  ShareView(rehasher_, &worker_);
}

}  // namespace powercut::clevel

// Rehashing beside other threads (3.1.2, steps 4 and 5). The paper copies a pointer and clears the old one, and lets
// updates and deletions find out. Here an item is moved by steps that others can finish:
//
//   lower slot p           upper slot 0
//   p                      p tentative      not found there yet; durable
//   p forwarded            p tentative      from now on the upper slot counts; durable. A CAS: it fails if the item was
//                                           updated or erased, and the copy is withdrawn
//   p forwarded            p                durable
//   0                      p                durable
//
// Whoever wants to change an item that is forwarded does the last two steps first. After a power cut recovery does, or
// takes the tentative copy back (recover.cc).
#include "targets/clevel/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::clevel {

powercut_status Table::MoveBucket(Thread* thread, uint32_t number) {
  Load(thread);
  if (!thread->view.is_resizing) return POWERCUT_NOT_FOUND;
  const Level last = thread->view.last();
  const uint64_t rehashed = RehashedOf(number, last);
  const uint64_t index = number + rehashed * strides();
  DO_IF (Bug::kIndexBeforeItems) StoreRehashed(number, last.log2() << kOffsetBits | (rehashed + 1));
  if (index < last.buckets()) {
    for (uint32_t s = 0; s < options_.slots; ++s) {
      const powercut_status status = MoveItem(thread, last.slots + index * options_.slots + s);
      if (status != POWERCUT_OK) return status;
    }
    pmem::mark("rehash.bucket");
    StoreRehashed(number, last.log2() << kOffsetBits | (rehashed + 1));
  }
  return EndLevel(thread, last);
}

// At OK the slot has no item, and will have none: an item that is inserted there later is withdrawn.
powercut_status Table::MoveItem(Thread* thread, uint64_t* slot) {
  for (;;) {
    const uint64_t word = pmem::atomic_load(slot);
    if (word == 0 || (word & (kRefused | kEvicted)) != 0) return POWERCUT_OK;
    if ((word & kErased) != 0) {
      PersistSlot(slot);
      return POWERCUT_OK;
    }
    if ((word & kTentative) != 0) {
      pmem::mark("rehash.evicted");
      if (Swap(slot, word, (word & ~kMarkMask) | kEvicted)) return POWERCUT_OK;
      continue;
    }
    if ((word & kForwarded) != 0) {
      FinishMove(thread, slot, word);
      continue;
    }
    const View& view = Load(thread);
    const Probe probe(KeyOf(word));
    const Place upper = FindVacancy(view, probe, view.count - 1);
    if (!upper.found()) {
      // "If no empty slot is found, go to step 2 to expand the table."
      pmem::mark("rehash.expand");
      const powercut_status status = Expand(thread);
      if (status != POWERCUT_OK) return status;
      continue;
    }
    const bool blindly = Has(Bug::kMoveClearsBlindly);
    const bool counts = blindly || Has(Bug::kCopyCountsEarly);
    if (!Swap(upper.slot, 0, counts ? word : word | kTentative)) continue;
    PersistSlot(upper.slot);
    pmem::mark("rehash.copied");
    if (blindly) {
      ClearSlot(slot);
      return POWERCUT_OK;
    }
    if (Swap(slot, word, word | kForwarded)) {
      FinishMove(thread, slot, word | kForwarded);
      return POWERCUT_OK;
    }
    pmem::mark("rehash.withdrawn");
    Withdraw(upper.slot, word);
    DO_IF (Bug::kMoveNotRetried) return POWERCUT_OK;
  }
}

// The lower slot is empty, durably, when it returns, unless its level is gone.
void Table::FinishMove(Thread* thread, uint64_t* slot, uint64_t word) {
  // Its upper slot is in a level of this view, since the lower one was forwarded before.
  const View& view = Load(thread);
  if (!view.Holds(slot, options_.slots)) return;
  SKIP_IF (Bug::kHelpNotPersisted) PersistSlot(slot);
  const uint64_t item = word & ~kMarkMask;
  const Bytes key = KeyOf(word);
  ForEachWord(view, key, Probe(key), [&](const Place& place) {
    if ((place.word & ~kMarkMask) != item || place.slot == slot) return false;
    Swap(place.slot, item | kTentative, item);
    PersistSlot(place.slot);
    return true;
  });
  Swap(slot, word, 0);
  PersistSlot(slot);
}

// Step 5, by whoever finds all buckets rehashed.
powercut_status Table::EndLevel(Thread* thread, const Level& last) {
  const bool done = AreAllDone(last) || Has(Bug::kLevelRemovedEarly);
  if (!done || thread->view.last().offset != last.offset) return POWERCUT_OK;
  return RemoveLast(thread) ? POWERCUT_OK : POWERCUT_FULL;
}

}  // namespace powercut::clevel

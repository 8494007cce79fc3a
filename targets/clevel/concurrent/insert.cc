// Insertion beside other threads. An insertion counts from the CAS of its own slot from tentative to live; until then
// nobody finds the item. The CAS succeeds only where the item will stay: a rehash evicts tentative items, and an
// insertion that a resize has overtaken withdraws. Unlike in 3.2.2, no item is inserted twice.
#include "targets/clevel/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::clevel {

powercut_status Table::InsertMarked(Thread* thread, Bytes key, Bytes value) {
  const Probe probe(key);
  uint64_t item = 0;
  for (;;) {
    const View& view = Load(thread);
    if (FindLive(view, key, probe, /*answers=*/true).found()) return EndWithout(thread, item, POWERCUT_EXISTS);
    // "Do not insert items into the last level when the hash table is resizing."
    const Place place = FindVacancy(view, probe, view.is_resizing ? 1 : 0);
    if (!place.found()) {
      if (!options_.auto_expand || Expand(thread) != POWERCUT_OK) return EndWithout(thread, item, POWERCUT_FULL);
      continue;
    }
    if (item == 0) item = NewItem(*thread, key, value, Bug::kInsertUnordered);
    if (item == 0) return POWERCUT_FULL;

    const uint64_t word = probe.SlotFor(item) | kTentative;
    if (!Swap(place.slot, 0, word)) continue;
    if (IsOvertaken(view, place)) {
      pmem::mark("insert.withdrawn");
      Withdraw(place.slot, word);
      continue;
    }
    const Decision decision = Commit(thread, probe, place.slot, word);
    if (decision == Decision::kCommitted) {
      pmem::mark(place.level == 0 ? "insert.last" : "insert.above");
      PersistSlot(place.slot);
      break;
    }
    Withdraw(place.slot, word);
    if (decision == Decision::kRefused) return EndWithout(thread, item, POWERCUT_EXISTS);
  }
  DO_IF (Bug::kInsertUnordered) PersistItem(item);
  return POWERCUT_OK;
}

// The level may have become the last one since, and this bucket of it may have been rehashed before the slot was taken.
// Rehashing comes after a change of the context.
bool Table::IsOvertaken(const View& view, const Place& place) const {
  DO_IF (Bug::kInsertNotRedone) return false;
  DO_IF (Bug::kInsertOvertaken) return NeedsRedo(view, place);
  return Moved(view);
}

// Precondition: the item is tentative, refused or evicted, so that nobody else stores to the slot except to decide
// that.
void Table::Withdraw(uint64_t* slot, uint64_t word) const {
  for (const uint64_t mark : {kTentative, kEvicted, kRefused}) {
    if (Swap(slot, (word & ~kMarkMask) | mark, 0)) break;
  }
  PersistSlot(slot);
}

// Others may have seen its key.
powercut_status Table::EndWithout(Thread* thread, uint64_t item, powercut_status status) {
  if (item != 0) {
    NameRetired(*thread, 0, item);
    pmem::fence();
    ++thread->retired;
  }
  return status;
}

// Announces the insertion in the stripe of its key and decides it there, alone or with the help of others.
void Table::CommitOnce(Thread* thread, const Probe& probe, uint64_t* slot, uint64_t word) {
  uint64_t* stripe = threads_->StripeOf(probe);
  const uint64_t ticket = threads_->Announce(thread->id, slot, word);
  for (;;) {
    uint64_t other = 0;
    if (__atomic_compare_exchange_n(stripe, &other, ticket, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) break;
    pmem::mark("insert.helped");
    HelpCommit(thread, stripe, other);
  }
  Decide(thread, slot, word, /*own=*/true);
  Swap(stripe, ticket, 0);  // fails if a helper has done so
}

Table::Decision Table::Commit(Thread* thread, const Probe& probe, uint64_t* slot, uint64_t word) {
  const uint64_t item = word & ~kMarkMask;
  DO_IF (Bug::kInsertNotUnique) Swap(slot, word, item);
  SKIP_IF (Bug::kInsertNotUnique) CommitOnce(thread, probe, slot, word);
  const uint64_t now = pmem::atomic_load(slot);
  if (now == (item | kEvicted)) return Decision::kEvicted;
  return now == (item | kRefused) ? Decision::kRefused : Decision::kCommitted;
}

// Precondition: the insertion has the stripe of its key, or had it and is decided. While it has it, no other insertion
// of the key can begin to count: if the key was absent, it is still when the CAS succeeds.
void Table::Decide(Thread* thread, uint64_t* slot, uint64_t word, bool own) {
  for (;;) {
    const View& view = Load(thread);
    // If the slot's level is gone, the insertion was evicted; its memory may be gone as well.
    if (!own && !view.Holds(slot, options_.slots)) return;
    if (pmem::atomic_load(slot) != word) return;
    const Bytes key = KeyOf(word);
    const bool exists = FindLive(view, key, Probe(key), /*answers=*/true).found();
    if (!exists && Moved(view)) continue;
    // Fails if it was decided otherwise.
    Swap(slot, word, (word & ~kMarkMask) | (exists ? kRefused : 0));
    return;
  }
}

void Table::HelpCommit(Thread* thread, uint64_t* stripe, uint64_t ticket) {
  uint64_t* slot = nullptr;
  uint64_t word = 0;
  threads_->Read(ticket, &slot, &word);
  if (pmem::atomic_load(stripe) != ticket) return;
  Decide(thread, slot, word, /*own=*/false);
  Swap(stripe, ticket, 0);
}

}  // namespace powercut::clevel

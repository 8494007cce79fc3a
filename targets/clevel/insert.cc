// Context-aware insertion (3.2.2): no movement, one pointer set by CAS.
#include "targets/clevel/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::clevel {

powercut_status Table::InsertIn(Thread* thread, Bytes key, Bytes value) {
  ResumePublication();
  if (IsInterleaved(Interleave::kExpandUnpersisted)) ExpandMeanwhile(/*paused=*/true);
  const Probe probe(key);
  uint64_t item = 0;
  Place published;
  for (;;) {
    const View& view = Load(thread);
    // "Redo the insertion using the same pointer without checking duplicate items."
    if (!published.found() && Find(view, key, probe).found()) {
      if (item != 0) GiveUp(thread, item, published);
      return POWERCUT_EXISTS;
    }
    // "Do not insert items into the last level when the hash table is resizing."
    const int lowest = view.is_resizing && !Has(Bug::kInsertIntoLast) ? 1 : 0;
    const Place place = FindVacancy(view, probe, lowest);
    if (!place.found()) {
      if (!options_.auto_expand || Expand(thread) != POWERCUT_OK) return GiveUp(thread, item, published);
      continue;
    }
    if (item == 0) item = NewItem(*thread, key, value, Bug::kInsertUnordered);
    if (item == 0) return POWERCUT_FULL;
    if (IsInterleaved(Interleave::kExpandInInsert) && place.level == 0) ExpandMeanwhile(/*paused=*/false);

    uint64_t expected = 0;
    if (!__atomic_compare_exchange_n(place.slot, &expected, probe.SlotFor(item), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
      continue;
    }
    pmem::mark(place.level == 0 ? "insert.last" : "insert.above");
    SKIP_IF (Bug::kInsertUnflushed) pmem::persist(place.slot, sizeof(uint64_t));
    DO_IF (Bug::kInsertUnordered) PersistItem(item);
    if (!NeedsRedo(view, place)) break;
    pmem::mark("insert.redo");
    published = place;
    published.word = probe.SlotFor(item);
  }
  ForgetItems(*thread);
  AutoRehash();
  return POWERCUT_OK;
}

// Returns a free slot in the highest level that has room. The slot lies in the less loaded of the two buckets, on a tie
// in the first bucket.
Place Table::FindVacancy(const View& view, const Probe& probe, int lowest) const {
  for (int i = view.count - 1; i >= lowest; --i) {
    const Level& level = view.levels[i];
    Place best;
    uint32_t most = 0;
    for (int h = 0; h < 2; ++h) {
      const uint64_t index = probe.hash[h] & level.mask;
      uint64_t* bucket = level.slots + index * options_.slots;
      uint32_t empty = 0;
      uint64_t* vacant = nullptr;
      for (uint32_t s = options_.slots; s-- > 0;) {
        if (pmem::atomic_load(&bucket[s]) != 0) continue;
        ++empty;
        vacant = &bucket[s];
      }
      if (empty > most) {
        most = empty;
        best = {vacant, 0, i, index};
      }
    }
    if (best.found()) return best;
  }
  return {};
}

// "If the table starts resizing and the item has been already inserted into the last level."
bool Table::NeedsRedo(const View& view, const Place& place) const {
  if (place.level != 0 || view.is_resizing || Has(Bug::kInsertNotRedone)) return false;
  return At<Context>(OffsetIn(pmem::atomic_load(&root()->context)))->is_resizing != 0;
}

// No room, or the key is there: nothing of the insertion stays. A pointer in the last level, left to be inserted again,
// is taken back.
powercut_status Table::GiveUp(Thread* thread, uint64_t item, const Place& published) {
  if (item != 0) {
    if (published.found()) Unlink(published.slot, published.word);
    FreeItem(thread, item);
    ForgetItems(*thread);
  }
  return POWERCUT_FULL;
}

}  // namespace powercut::clevel

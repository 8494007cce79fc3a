// Update (3.2.3): the pointer to the item is switched by one CAS.
#include "targets/clevel/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::clevel {

powercut_status Table::UpdateIn(Thread* thread, Bytes key, Bytes value) {
  ResumePublication();
  const Probe probe(key);
  uint64_t item = 0, old = 0;
  bool paused = false;
  for (;;) {
    const View& view = Load(thread);
    const Progress rehashed_before = ReadProgress();
    if (IsInterleaved(Interleave::kExpandInSearch)) ExpandMeanwhile(/*paused=*/false);
    const Place place = FindOne(thread, key, probe);
    if (!place.found()) {
      if (Moved(view)) continue;
      if (old != 0) break;  // another thread has erased what this one wrote
      GiveUp(thread, item, {});
      return POWERCUT_NOT_FOUND;
    }
    if (item != 0 && OffsetIn(place.word) == item) break;
    if (Has(Bug::kGrownInPlace) && GrowInPlace(OffsetIn(place.word), value)) return POWERCUT_OK;
    if (Has(Bug::kShrunkInPlace) && ShrinkInPlace(OffsetIn(place.word), value)) return POWERCUT_OK;
    if (item == 0) item = NewItem(*thread, key, value, Bug::kUpdateUnordered);
    if (item == 0) return POWERCUT_FULL;

    if (IsInterleaved(Interleave::kRehashInUpdate) && !paused) {
      paused = true;
      PauseRehash(/*copied=*/true);
    }
    Retire(*thread, OffsetIn(place.word));
    DO_IF (Bug::kUpdateFreesFirst) allocator_.Free(OffsetIn(place.word));
    uint64_t expected = place.word;
    if (!__atomic_compare_exchange_n(place.slot, &expected, probe.SlotFor(item), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
      continue;
    }
    pmem::persist(place.slot, sizeof(uint64_t));
    DO_IF (Bug::kUpdateUnordered) PersistItem(item);
    pmem::mark("update.switched");
    old = OffsetIn(place.word);
    ResumeRehash();
    DO_IF (Bug::kUpdateNotRechecked) break;
    if (!Moved(view) && !RehashedMeanwhile(view, place, rehashed_before)) break;
    pmem::mark("update.again");
  }
  SKIP_IF (Bug::kUpdateFreesFirst) FreeItem(thread, old);
  ForgetItems(*thread);
  AutoRehash();
  return POWERCUT_OK;
}

}  // namespace powercut::clevel

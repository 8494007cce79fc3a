// Deletion (3.2.4): every copy that the bottom-to-top search meets.
#include "targets/clevel/table.h"

namespace powercut::clevel {

powercut_status Table::Erase(const uint8_t* key) {
  ResumePublication();
  const Probe probe(key, options_.key_size);
  uint64_t item = 0;
  bool paused = false;
  for (bool again = true; again;) {
    again = false;
    const View& view = Load(&worker_);
    const uint64_t rehashed_before = pmem::atomic_load(&root()->rehashed);
    if (IsInterleaved(Interleave::kExpandInSearch)) ExpandMeanwhile(/*paused=*/false);
    if (options_.hardened && !Has(Bug::kEraseFirstCopy)) MergeDifferent(view, key, probe);
    ForEachMatch(view, key, probe, [&](const Place& place) {
      if (IsInterleaved(Interleave::kRehashInErase) && !paused) {
        paused = true;
        PauseRehashAfterCopy();
      }
      if (item != 0) pmem::mark("erase.duplicate");
      if (item != OffsetIn(place.word)) {
        if (item != 0) allocator_.Free(item);
        item = OffsetIn(place.word);
        Retire(worker_, item);
      }
      ClearSlot(place.slot);
      ResumeRehash();
      again = again || RehashedMeanwhile(view, place, rehashed_before);
      return Has(Bug::kEraseFirstCopy);
    });
    if (Has(Bug::kEraseNotRechecked) || Has(Bug::kEraseFirstCopy)) break;
    again = again || Moved(view);
    if (again) pmem::mark("erase.again");
  }
  if (item == 0) return POWERCUT_NOT_FOUND;
  allocator_.Free(item);
  if (Retires()) ForgetItems(worker_);
  AutoRehash();
  return POWERCUT_OK;
}

// Copies with different items: only the one that searches answer with stays, else clearing it first would bring back
// the value before it.
void Table::MergeDifferent(const View& view, const uint8_t* key, const Probe& probe) {
  for (;;) {
    Place lower, upper;
    ForEachMatch(view, key, probe, [&](const Place& place) {
      if (!lower.found()) {
        lower = place;
        return false;
      }
      if (place.word != lower.word) upper = place;
      return upper.found();
    });
    if (!upper.found()) return;
    Merge(worker_, lower, upper);
  }
}

}  // namespace powercut::clevel

// Deletion (3.2.4): every copy that the bottom-to-top search meets.
#include "targets/clevel/table.h"

namespace powercut::clevel {

powercut_status Table::EraseIn(Thread* thread, Bytes key) {
  ResumePublication();
  const Probe probe(key);
  uint64_t item = 0;
  bool paused = false;
  for (bool again = true; again;) {
    again = false;
    const View& view = Load(thread);
    const Progress rehashed_before = ReadProgress();
    if (IsInterleaved(Interleave::kExpandInSearch)) ExpandMeanwhile(/*paused=*/false);
    ForEachMatch(view, key, probe, [&](const Place& place) {
      if (IsInterleaved(Interleave::kRehashInErase) && !paused) {
        paused = true;
        PauseRehash(/*copied=*/false);
      }
      if (options_.concurrent && !Unlink(place.slot, place.word)) {
        again = true;
        return false;
      }
      if (item != 0) pmem::mark("erase.duplicate");
      if (item != OffsetIn(place.word)) {
        if (item != 0) FreeItem(thread, item);
        item = OffsetIn(place.word);
        Retire(*thread, item);
      }
      if (!options_.concurrent) ClearSlot(place.slot);
      again = again || RehashedMeanwhile(view, place, rehashed_before);
      return Has(Bug::kEraseFirstCopy);
    });
    ResumeRehash();
    if (Has(Bug::kEraseNotRechecked) || Has(Bug::kEraseFirstCopy)) break;
    again = again || Moved(view);
    if (again) pmem::mark("erase.again");
  }
  if (item == 0) return POWERCUT_NOT_FOUND;
  FreeItem(thread, item);
  if (RetiresItems()) ForgetItems(*thread);
  AutoRehash();
  return POWERCUT_OK;
}

}  // namespace powercut::clevel

// Update and erasure beside other threads (3.2.3, 3.2.4). A live word is the only live word of its key, except while
// its item is being moved; the movement is finished first. The CAS of one slot is therefore the whole change, and no
// check is needed afterwards.
#include "targets/clevel/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::clevel {

powercut_status Table::UpdateMarked(Thread* thread, Bytes key, Bytes value) {
  const Probe probe(key);
  uint64_t item = 0;
  for (;;) {
    const View& view = Load(thread);
    const Place place = FindLive(view, key, probe, /*answers=*/false);
    if (!place.found()) {
      if (Moved(view)) continue;
      return EndWithout(thread, item, POWERCUT_NOT_FOUND);
    }
    if ((place.word & kForwarded) != 0 && !Has(Bug::kUpdateNotHelped)) {
      FinishMove(thread, place.slot, place.word);
      continue;
    }
    const uint64_t old = OffsetIn(place.word);
    NameRetired(*thread, 0, old);
    if (item != 0) {
      pmem::fence();
    } else {
      item = NewItem(*thread, key, value, Bug::kUpdateUnordered);
      if (item == 0) return POWERCUT_FULL;
    }
    if (!Swap(place.slot, place.word, probe.SlotFor(item)) && !Has(Bug::kUpdateCasUnchecked)) continue;
    pmem::mark("update.switched");
    PersistSlot(place.slot);
    DO_IF (Bug::kUpdateUnordered) PersistItem(item);
    FreeItem(thread, old);
    return POWERCUT_OK;
  }
}

powercut_status Table::EraseMarked(Thread* thread, Bytes key) {
  const Probe probe(key);
  bool is_erased = false;
  for (;;) {
    const View& view = Load(thread);
    const Place place = FindLive(view, key, probe, /*answers=*/false);
    if (!place.found()) {
      if (Moved(view)) continue;
      return is_erased ? POWERCUT_OK : POWERCUT_NOT_FOUND;
    }
    if ((place.word & kForwarded) != 0 && !Has(Bug::kEraseFreesCopies)) {
      FinishMove(thread, place.slot, place.word);
      continue;
    }
    NameRetired(*thread, 0, OffsetIn(place.word));
    pmem::fence();
    if (!MarkErased(place)) continue;
    pmem::mark("erase.marked");
    FreeItem(thread, OffsetIn(place.word));
    is_erased = true;
    SKIP_IF (Bug::kEraseFreesCopies) return POWERCUT_OK;
  }
}

// In two steps, so that whoever finds the slot empty need not ask whether it is so durably. False: others have changed
// the slot.
bool Table::MarkErased(const Place& place) const {
  DO_IF (Bug::kEraseStores) return ClearSlot(place.slot), true;
  const uint64_t erased = (place.word & ~kMarkMask) | kErased;
  if (!Swap(place.slot, place.word, erased)) return false;
  PersistSlot(place.slot);
  Swap(place.slot, erased, 0);  // nobody else stores there
  PersistSlot(place.slot);
  return true;
}

}  // namespace powercut::clevel

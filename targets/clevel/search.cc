// Bottom-to-top search (3.2.1) and the content-conscious Find that leaves no duplicate (3.2.3).
#include "targets/clevel/table.h"

namespace powercut::clevel {

Place Table::Find(const View& view, Bytes key, const Probe& probe, int from_level) const {
  Place found;
  ForEachMatch(
      view, key, probe,
      [&](const Place& place) {
        found = place;
        return true;
      },
      from_level);
  return found;
}

powercut_status Table::LookupIn(Thread* thread, Bytes key, ValueRoom* value) {
  const Probe probe(key);
  for (;;) {
    const View& view = Load(thread, /*writes=*/false);
    const Place place = Find(view, key, probe);
    if (place.found()) {
      value->Put(ValueOf(place.word));
      return POWERCUT_OK;
    }
    // An item may have moved to a level that this view does not have.
    if (!Moved(view)) return POWERCUT_NOT_FOUND;
  }
}

Place Table::FindOne(Thread* thread, Bytes key, const Probe& probe) {
  for (;;) {
    Place lower, upper;
    ForEachMatch(thread->view, key, probe, [&](const Place& place) {
      if (!lower.found()) {
        lower = place;
        return Has(Bug::kUpdateFirstCopy);
      }
      upper = place;
      return true;
    });
    if (!upper.found()) return lower;
    pmem::mark("find.duplicate");
    Merge(thread, lower, upper);
  }
}

// The slot closer to the first level stays: the rehashing thread may be about to clear the other one.
void Table::Merge(Thread* thread, const Place& lower, const Place& upper) {
  if (lower.word == upper.word) {
    Unlink(lower.slot, lower.word);
    return;
  }
  pmem::mark("merge.different");
  if (!options_.hardened) {
    // "We delete the item and the pointer that first occurs in the b2t search."
    if (Unlink(lower.slot, lower.word)) FreeItem(thread, OffsetIn(lower.word));
    return;
  }
  // Fig. 4, and a cut in the middle of it: the lower copy is the updated item, and searches have answered with its
  // value. The updated item therefore has to stay, and moves into the upper slot.
  const uint64_t old = OffsetIn(upper.word);
  Retire(*thread, old);
  pmem::atomic_store(upper.slot, lower.word);
  pmem::persist(upper.slot, sizeof(uint64_t));
  ClearSlot(lower.slot);
  FreeItem(thread, old);
}

Table::Progress Table::ReadProgress() const {
  Progress progress{};
  for (uint32_t number = 0; number < strides(); ++number) {
    progress.rehashed[number] = pmem::atomic_load(RehashedWord(number));
  }
  return progress;
}

bool Table::RehashedMeanwhile(const View& view, const Place& place, const Progress& before) const {
  const auto number = static_cast<uint32_t>(place.bucket % strides());
  const uint64_t turn = place.bucket / strides();
  return view.is_resizing && place.level == 0 && before.rehashed[number] <= turn &&
         turn <= pmem::atomic_load(RehashedWord(number));
}

bool Table::Unlink(uint64_t* slot, uint64_t word) const {
  if (!options_.concurrent) {
    ClearSlot(slot);
    return true;
  }
  const bool is_unlinked = Swap(slot, word, 0);
  PersistSlot(slot);
  return is_unlinked;
}

void Table::ClearSlot(uint64_t* slot) const {
  pmem::atomic_store(slot, uint64_t{0});
  pmem::persist(slot, sizeof *slot);
}

}  // namespace powercut::clevel

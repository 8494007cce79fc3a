// Search where slots are marked. From the bottom to the top, as in 3.2.1: an item is in its old slot until it is in its
// new one. The words that an answer rests on are made durable first. The paper flushes the loads of insertions, updates
// and deletions only (3.3), and calls its searches "read uncommitted" (4.5).
#include "targets/clevel/table.h"

namespace powercut::clevel {

Place Table::FindLive(const View& view, Bytes key, const Probe& probe, bool answers) const {
  Place found;
  ForEachWord(view, key, probe, [&](const Place& place) {
    if (IsLive(place.word)) {
      if (answers && !Has(Bug::kHitNotPersisted)) PersistSlot(place.slot);
      found = place;
      return true;
    }
    // An empty slot says that the erasure is durable; the mark does not.
    if ((place.word & kErased) != 0 && !Has(Bug::kMissNotPersisted)) PersistSlot(place.slot);
    return false;
  });
  return found;
}

powercut_status Table::LookupMarked(Thread* thread, Bytes key, ValueRoom* value) {
  const Probe probe(key);
  for (;;) {
    const View& view = Load(thread, /*writes=*/false);
    const Place place = FindLive(view, key, probe, /*answers=*/true);
    if (place.found()) {
      value->Put(ValueOf(place.word));
      return POWERCUT_OK;
    }
    if (!Moved(view)) return POWERCUT_NOT_FOUND;
  }
}

}  // namespace powercut::clevel

// Search. A search writes nothing, so it does not recover a segment. In an unrecovered segment the search ignores the
// parts that recovery would rebuild: locks and overflow metadata. The search also knows the states in which a cut can
// leave a split.
#include "targets/dash/table.h"

namespace powercut::dash {

Place Table::FindIn(Segment* segment, const Key& key, const Hash& hash) {
  // A recovered segment may be under change; in another one the locks mean nothing.
  if (IsRecovered(segment)) {
    AwaitUnlocked(segment, hash.bucket(bucket_mask()));
    AwaitUnlocked(segment, Next(hash.bucket(bucket_mask())));
  }
  return FindHeld(segment, key, hash);
}

Place Table::FindHeld(Segment* segment, const Key& key, const Hash& hash) {
  Place found;
  ForEachIn(segment, key, hash, [&](const Place& place) {
    found = place;
    return true;
  });
  return found;
}

Place Table::Find(const Key& key, const Hash& hash) {
  Segment* segment = SegmentOf(hash);
  Segment* fresh = PendingSplit(segment);
  if (fresh == nullptr || !Counts(fresh) || !fresh->Which().Covers(hash)) return FindIn(segment, key, hash);
  pmem::mark("search.pending_split");
  if (options_.hardened) return FindIn(fresh, key, hash);
  const Place place = FindIn(segment, key, hash);
  return place.found() ? place : FindIn(fresh, key, hash);
}

powercut_status Table::Lookup(Bytes key, ValueRoom* value) {
  const Key wanted = Wanted(key);
  if (options_.concurrent) return LookupBeside(wanted, value);
  const Place place = Find(wanted, HashOf(wanted));
  if (!place.found()) return POWERCUT_NOT_FOUND;
  PutValue(place.segment->bucket(place.bucket)->record[place.slot], value);
  return POWERCUT_OK;
}

}  // namespace powercut::dash

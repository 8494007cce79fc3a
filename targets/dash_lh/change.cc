// Insert, update, delete, search. Search writes nothing: where a crash or an expansion has left work to do, it knows
// where the record may be.
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {

powercut_status Table::Insert(Bytes key, Bytes value) { return InsertItem(key, value); }

powercut_status Table::InsertRecord(const Record& record, const Hash& hash) {
  if (AsAuthors()) return InsertAsAuthors(record, hash);
  if (options_.concurrent) return InsertBeside(record, hash);
  Segment* segment = nullptr;
  const powercut_status status = Acquire(hash, &segment);
  if (status != POWERCUT_OK) return status;
  if (FindIn(segment, KeyOf(record), hash).found()) return POWERCUT_EXISTS;
  const uint32_t home = hash.bucket(bucket_mask());
  Lock(segment, home);
  Lock(segment, Next(home));
  bool grown = false;
  const bool placed =
      PlaceRecord(segment, record, hash, dash::kDurable) || PlaceInChain(segment, record, hash, dash::kDurable, &grown);
  Unlock(segment, Next(home));
  Unlock(segment, home);
  if (!placed) return POWERCUT_FULL;
  // A chain that grows is what makes the table grow.
  if (grown) Expand();
  return POWERCUT_OK;
}

// Runs `change(segment, hash, spot)`, which returns the mark behind it, on a record that is there, with its pair
// locked. `prepare(record)` runs before; if it returns false, there is no room.
template <typename Prepare, typename Apply>
powercut_status Table::ChangeRecord(const Key& wanted, Prepare prepare, Apply change) {
  const Hash hash = HashOf(wanted);
  Segment* segment = nullptr;
  const powercut_status status = Acquire(hash, &segment);
  if (status != POWERCUT_OK) return status;
  const Spot spot = FindIn(segment, wanted, hash);
  if (!spot.found()) return POWERCUT_NOT_FOUND;
  if (!prepare(&spot.bucket->record[spot.slot])) return POWERCUT_FULL;
  const uint32_t home = hash.bucket(bucket_mask());
  Lock(segment, home);
  Lock(segment, Next(home));
  const char* mark = change(segment, hash, spot);
  Unlock(segment, Next(home));
  Unlock(segment, home);
  pmem::mark(mark);
  return POWERCUT_OK;
}

powercut_status Table::Update(Bytes key, Bytes value) {
  const Key wanted = Wanted(key);
  if (AsAuthors()) return UpdateAsAuthors(wanted, value, HashOf(wanted));
  if (options_.concurrent) return UpdateBeside(wanted, value, HashOf(wanted));
  Change change;
  const powercut_status status = ChangeRecord(
      wanted, [&](Record* record) { return PrepareChange(record, wanted, value, &change); },
      [&](Segment*, const Hash&, const Spot&) {
        StoreField(change.at, change.word);
        return "update";
      });
  if (status == POWERCUT_OK) FinishChange(change);
  return status;
}

powercut_status Table::Erase(Bytes key) {
  const Key wanted = Wanted(key);
  if (AsAuthors()) return EraseAsAuthors(wanted, HashOf(wanted));
  if (options_.concurrent) return EraseBeside(wanted, HashOf(wanted));
  uint64_t item = 0;
  const auto note_item = [&](const Record* record) {
    item = record->key;
    return true;
  };
  const powercut_status status =
      ChangeRecord(wanted, note_item, [&](Segment* segment, const Hash& hash, const Spot& spot) {
        Clear(spot.bucket, spot.slot, Has(Bug::kEraseNotFlushed) ? dash::kDeferred : dash::kDurable);
        if (spot.stash != Spot::kInPair) RemoveOverflow(segment, hash, spot.stash);
        return ErasedMark(spot);
      });
  if (status == POWERCUT_OK) RetireItem(item);
  return status;
}

Spot Table::FindIn(Segment* segment, const Key& key, const Hash& hash) {
  // A recovered segment may be under change; in another one the locks mean nothing.
  if (IsRecovered(segment)) {
    AwaitUnlocked(segment, hash.bucket(bucket_mask()));
    AwaitUnlocked(segment, Next(hash.bucket(bucket_mask())));
  }
  return FindHeld(segment, key, hash, [] { return true; });
}

Spot Table::Find(const Key& key, const Hash& hash) {
  for (uint64_t index = round().Index(hash);; index = Origin(index)) {
    Segment* segment = SegmentOf(index);
    const bool settled = IsSettled(segment);
    if (!settled) pmem::mark("search.origin");
    if (!Counts(segment)) continue;
    const Spot spot = FindIn(segment, key, hash);
    // `published` may have copied a part only.
    if (spot.found() || settled || options_.hardened) return spot;
  }
}

powercut_status Table::Lookup(Bytes key, ValueRoom* value) {
  const Key wanted = Wanted(key);
  if (options_.concurrent) return LookupBeside(wanted, value);
  const Spot spot = Find(wanted, HashOf(wanted));
  if (!spot.found()) return POWERCUT_NOT_FOUND;
  PutValue(spot.bucket->record[spot.slot], value);
  return POWERCUT_OK;
}

}  // namespace powercut::dash_lh

// Insert, update, delete, search. Search writes nothing: where a crash or an expansion has left work to do, it knows
// where the record may be.
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  const Record record{LoadWord(key), LoadWord(value)};
  const Hash hash(record.key);
  if (AsAuthors()) return InsertAsAuthors(record, hash);
  if (options_.concurrent) return InsertBeside(record, hash);
  Segment* segment = nullptr;
  const powercut_status status = Acquire(hash, &segment);
  if (status != POWERCUT_OK) return status;
  if (FindIn(segment, record.key, hash).found()) return POWERCUT_EXISTS;
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
// locked.
template <typename Change>
powercut_status Table::ChangeRecord(const uint8_t* key, Change change) {
  const uint64_t wanted = LoadWord(key);
  const Hash hash(wanted);
  Segment* segment = nullptr;
  const powercut_status status = Acquire(hash, &segment);
  if (status != POWERCUT_OK) return status;
  const Spot spot = FindIn(segment, wanted, hash);
  if (!spot.found()) return POWERCUT_NOT_FOUND;
  const uint32_t home = hash.bucket(bucket_mask());
  Lock(segment, home);
  Lock(segment, Next(home));
  const char* mark = change(segment, hash, spot);
  Unlock(segment, Next(home));
  Unlock(segment, home);
  pmem::mark(mark);
  return POWERCUT_OK;
}

powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  if (options_.concurrent) {
    const uint64_t wanted = LoadWord(key);
    return AsAuthors() ? UpdateAsAuthors(wanted, LoadWord(value), Hash(wanted))
                       : UpdateBeside(wanted, LoadWord(value), Hash(wanted));
  }
  return ChangeRecord(key, [&](Segment*, const Hash&, const Spot& spot) {
    // A value is 8 bytes: one store changes it.
    StoreField(&spot.bucket->record[spot.slot].value, LoadWord(value));
    return "update";
  });
}

powercut_status Table::Erase(const uint8_t* key) {
  if (options_.concurrent) {
    const uint64_t wanted = LoadWord(key);
    return AsAuthors() ? EraseAsAuthors(wanted, Hash(wanted)) : EraseBeside(wanted, Hash(wanted));
  }
  return ChangeRecord(key, [&](Segment* segment, const Hash& hash, const Spot& spot) {
    Clear(spot.bucket, spot.slot, Has(Bug::kEraseNotFlushed) ? dash::kDeferred : dash::kDurable);
    if (spot.stash != Spot::kInPair) RemoveOverflow(segment, hash, spot.stash);
    return ErasedMark(spot);
  });
}

Spot Table::FindIn(Segment* segment, uint64_t key, const Hash& hash) {
  // A recovered segment may be under change; in another one the locks mean nothing.
  if (IsRecovered(segment)) {
    AwaitUnlocked(segment, hash.bucket(bucket_mask()));
    AwaitUnlocked(segment, Next(hash.bucket(bucket_mask())));
  }
  return FindHeld(segment, key, hash, [] { return true; });
}

Spot Table::Find(uint64_t key, const Hash& hash) {
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

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  const uint64_t wanted = LoadWord(key);
  if (options_.concurrent) return LookupBeside(wanted, value);
  const Spot spot = Find(wanted, Hash(wanted));
  if (!spot.found()) return POWERCUT_NOT_FOUND;
  const uint64_t found = spot.bucket->record[spot.slot].value;
  std::memcpy(value, &found, sizeof found);
  return POWERCUT_OK;
}

}  // namespace powercut::dash_lh

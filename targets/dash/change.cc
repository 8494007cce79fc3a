// Update and delete.
#include "targets/dash/table.h"

namespace powercut::dash {

powercut_status Table::Update(Bytes key, Bytes value) {
  const Key wanted = Wanted(key);
  const Hash hash = HashOf(wanted);
  if (AsAuthors()) return UpdateAsAuthors(wanted, value, hash);
  if (options_.concurrent) return UpdateBeside(wanted, value, hash);
  Segment* segment = nullptr;
  const powercut_status status = Acquire(hash, &segment);
  if (status != POWERCUT_OK) return status;
  const Place place = FindIn(segment, wanted, hash);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  Change change;
  if (!PrepareChange(&segment->bucket(place.bucket)->record[place.slot], wanted, value, &change)) return POWERCUT_FULL;
  Lock(segment, place.bucket);
  StoreField(change.at, change.word);
  Unlock(segment, place.bucket);
  pmem::mark("update");
  FinishChange(change);
  return POWERCUT_OK;
}

powercut_status Table::Erase(Bytes key) {
  const Key wanted = Wanted(key);
  const Hash hash = HashOf(wanted);
  if (AsAuthors()) return EraseAsAuthors(wanted, hash);
  if (options_.concurrent) return EraseBeside(wanted, hash);
  Segment* segment = nullptr;
  const powercut_status status = Acquire(hash, &segment);
  if (status != POWERCUT_OK) return status;
  const Place place = FindIn(segment, wanted, hash);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  const uint32_t home = hash.bucket(bucket_mask());
  const bool stashed = place.bucket >= options_.buckets;
  const uint64_t item = segment->bucket(place.bucket)->record[place.slot].key;
  Lock(segment, home);
  Lock(segment, Next(home));
  if (stashed) Lock(segment, place.bucket);
  Clear(place, Has(Bug::kEraseNotFlushed) ? kDeferred : kDurable);
  if (stashed) {
    RemoveOverflow(segment, hash, place.bucket - options_.buckets);
    Unlock(segment, place.bucket);
  }
  Unlock(segment, Next(home));
  Unlock(segment, home);
  pmem::mark(stashed ? "erase.stash" : "erase");
  RetireItem(item);
  return POWERCUT_OK;
}

}  // namespace powercut::dash

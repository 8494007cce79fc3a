// Update and delete.
#include "targets/dash/table.h"

namespace powercut::dash {

powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  const uint64_t wanted = LoadWord(key);
  const Hash hash(wanted);
  if (AsAuthors()) return UpdateAsAuthors(wanted, LoadWord(value), hash);
  if (options_.concurrent) return UpdateBeside(wanted, LoadWord(value), hash);
  Segment* segment = nullptr;
  const powercut_status status = Acquire(hash, &segment);
  if (status != POWERCUT_OK) return status;
  const Place place = FindIn(segment, wanted, hash);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  Lock(segment, place.bucket);
  // A value is 8 bytes: one store changes it.
  StoreField(&segment->bucket(place.bucket)->record[place.slot].value, LoadWord(value));
  Unlock(segment, place.bucket);
  pmem::mark("update");
  return POWERCUT_OK;
}

powercut_status Table::Erase(const uint8_t* key) {
  const uint64_t wanted = LoadWord(key);
  const Hash hash(wanted);
  if (AsAuthors()) return EraseAsAuthors(wanted, hash);
  if (options_.concurrent) return EraseBeside(wanted, hash);
  Segment* segment = nullptr;
  const powercut_status status = Acquire(hash, &segment);
  if (status != POWERCUT_OK) return status;
  const Place place = FindIn(segment, wanted, hash);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  const uint32_t home = hash.bucket(bucket_mask());
  const bool stashed = place.bucket >= options_.buckets;
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
  return POWERCUT_OK;
}

}  // namespace powercut::dash

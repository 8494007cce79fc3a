// Operations beside other threads, `hardened` (concurrency=concurrent; README.md, "Threads").
//
// Whoever changes a key holds the two buckets that it may lie in, and does so until the change is durable. A lookup
// takes no lock. It notes the versions of the two buckets, searches, and looks at them again: between two equal words
// that are not locked nobody has changed the key, and what it has found is durable. That goes for the stash as well,
// since a key that goes there or leaves it is changed under its two buckets.
//
// The segment may have split before its buckets were locked, or their versions noted. It still is that of the key if it
// covers the hash: a split holds every bucket until the directory and the segment have changed. Segments are never
// freed.
#include <algorithm>

#include "targets/dash/table.h"

namespace powercut::dash {

template <typename Visit>
void Table::ForEachReached(const Hash& hash, Reach reach, Visit visit) const {
  const uint32_t home = hash.bucket(bucket_mask());
  if (reach == Reach::kSegment) {
    for (uint32_t b = 0; b < options_.buckets; ++b) visit(b);
  } else {
    uint32_t few[] = {home, Next(home), Previous(home), Next(Next(home))};
    const uint32_t count = reach == Reach::kPair || Has(Bug::kDisplaceUnlocked) ? 2 : 4;
    std::sort(few, few + count);
    for (uint32_t i = 0; i < count; ++i) visit(few[i]);
  }
  if (reach == Reach::kPair || !has_stash()) return;
  if (reach == Reach::kSegment || !Has(Bug::kStashUnlocked)) visit(stash_lock());
}

void Table::LockReach(Segment* segment, const Hash& hash, Reach reach) {
  ForEachReached(hash, reach, [&](uint32_t bucket) { Lock(segment, bucket); });
}

void Table::UnlockReach(Segment* segment, const Hash& hash, Reach reach) {
  ForEachReached(hash, reach, [&](uint32_t bucket) { Unlock(segment, bucket); });
}

powercut_status Table::AcquirePair(const Hash& hash, Segment** out) {
  for (;;) {
    const powercut_status status = Acquire(hash, out);
    if (status != POWERCUT_OK) return status;
    LockReach(*out, hash, Reach::kPair);
    if (Has(Bug::kSegmentStale) || (*out)->Which().Covers(hash)) return POWERCUT_OK;
    UnlockReach(*out, hash, Reach::kPair);
  }
}

// It reaches further only where that is needed, and begins again each time: nothing is known of the buckets that it
// had.
powercut_status Table::InsertBeside(const Record& record, const Hash& hash) {
  const uint32_t home = hash.bucket(bucket_mask());
  const bool flushes_late = Has(Bug::kUnlockBeforeFlush);
  for (Reach reach = Reach::kPair;;) {
    Segment* segment = nullptr;
    powercut_status status = Acquire(hash, &segment);
    if (status != POWERCUT_OK) return status;
    if (Has(Bug::kInsertCheckApart) && FindIn(segment, record.key, hash).found()) return POWERCUT_EXISTS;
    LockReach(segment, hash, reach);
    const auto leave = [&] { UnlockReach(segment, hash, reach); };
    if (!Has(Bug::kInsertStale) && !segment->Which().Covers(hash)) {
      leave();
      reach = Reach::kPair;
      continue;
    }
    if (!Has(Bug::kInsertCheckApart) && FindHeld(segment, record.key, hash).found()) {
      leave();
      return POWERCUT_EXISTS;
    }
    const bool has_room = !Full(segment->bucket(home)->Load()) || !Full(segment->bucket(Next(home))->Load());
    if (has_room || reach != Reach::kPair) {
      if (PlaceRecord(segment, record, hash, flushes_late ? kRecordOnly : kDurable)) {
        leave();
        if (flushes_late) {
          for (uint32_t bucket : {home, Next(home)}) PersistWord(segment, bucket);
        }
        return POWERCUT_OK;
      }
    }
    if (reach == Reach::kSegment) {
      status = Split(segment);
      leave();
      if (status != POWERCUT_OK) return status;
      reach = Reach::kPair;
    } else {
      leave();
      reach = reach == Reach::kPair ? Reach::kAround : Reach::kSegment;
    }
  }
}

powercut_status Table::UpdateBeside(uint64_t key, uint64_t value, const Hash& hash) {
  Segment* segment = nullptr;
  const powercut_status status = AcquirePair(hash, &segment);
  if (status != POWERCUT_OK) return status;
  const Place place = FindHeld(segment, key, hash);
  if (place.found()) {
    uint64_t* at = &segment->bucket(place.bucket)->record[place.slot].value;
    pmem::atomic_store(at, value);
    if (Has(Bug::kUpdateUnlockedEarly)) UnlockReach(segment, hash, Reach::kPair);
    pmem::persist(at, sizeof *at);
    pmem::mark("update");
    if (Has(Bug::kUpdateUnlockedEarly)) return POWERCUT_OK;
  }
  UnlockReach(segment, hash, Reach::kPair);
  return place.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
}

powercut_status Table::EraseBeside(uint64_t key, const Hash& hash) {
  Segment* segment = nullptr;
  const powercut_status status = AcquirePair(hash, &segment);
  if (status != POWERCUT_OK) return status;
  const Place place = FindHeld(segment, key, hash);
  const bool stashed = place.found() && place.bucket >= options_.buckets;
  if (stashed) Lock(segment, stash_lock());
  if (place.found()) {
    Clear(place, Has(Bug::kEraseUnlockedEarly) ? kDeferred : kDurable);
    pmem::mark(stashed ? "erase.stash" : "erase");
  }
  if (stashed) {
    RemoveOverflow(segment, hash, place.bucket - options_.buckets);
    Unlock(segment, stash_lock());
  }
  UnlockReach(segment, hash, Reach::kPair);
  if (place.found() && Has(Bug::kEraseUnlockedEarly)) PersistWord(segment, place.bucket);
  return place.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
}

powercut_status Table::LookupBeside(uint64_t key, const Hash& hash, uint64_t* value) {
  powercut_status status = POWERCUT_NOT_FOUND;
  for (;; pmem::pause()) {
    Segment* segment = SegmentOf(hash);
    const bool answered = !IsRecovered(segment) ? LookupUnrecovered(key, hash, value, &status)
                          : AsAuthors()         ? TryLookupAsAuthors(segment, key, hash, value, &status)
                                                : TryLookup(segment, key, hash, value, &status);
    if (answered) return status;
  }
}

bool Table::TryLookup(Segment* segment, uint64_t key, const Hash& hash, uint64_t* value, powercut_status* status) {
  const uint32_t home = hash.bucket(bucket_mask());
  const uint32_t* mine = &segment->bucket(home)->lock;
  const uint32_t* next = &segment->bucket(Next(home))->lock;
  const uint32_t my_version = pmem::atomic_load(mine), next_version = pmem::atomic_load(next);
  if (((my_version | next_version) & Bucket::kLocked) != 0 && !Has(Bug::kReadLocked)) return false;
  if (!Has(Bug::kLookupStale) && !segment->Which().Covers(hash)) return false;
  const Place place = FindHeld(segment, key, hash);
  const auto read = [&] { *value = pmem::atomic_load(&segment->bucket(place.bucket)->record[place.slot].value); };
  if (place.found() && !Has(Bug::kValueAfterCheck)) read();
  if (!Has(Bug::kReadUnchecked) && (place.found() || !Has(Bug::kMissUnchecked))) {
    if (pmem::atomic_load(mine) != my_version || pmem::atomic_load(next) != next_version) {
      pmem::mark("search.again");
      return false;
    }
  }
  if (place.found() && Has(Bug::kValueAfterCheck)) read();
  *status = place.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
  return true;
}

bool Table::LookupUnrecovered(uint64_t key, const Hash& hash, uint64_t* value, powercut_status* status) {
  const SpinGuard guard(Has(Bug::kUnrecoveredUnlocked) ? nullptr : LockOf(&Locks::recovery));
  if (IsRecovered(SegmentOf(hash))) return false;
  pmem::mark("search.unrecovered");
  const Place place = Find(key, hash);
  *status = place.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
  if (place.found()) *value = pmem::atomic_load(&place.segment->bucket(place.bucket)->record[place.slot].value);
  return true;
}

uint64_t Table::Allocate(uint64_t bytes) {
  const SpinGuard guard(LockOf(&Locks::memory));
  return allocator_.Allocate(bytes);
}

void Table::Free(uint64_t offset) {
  const SpinGuard guard(LockOf(&Locks::memory));
  allocator_.Free(offset);
}

}  // namespace powercut::dash

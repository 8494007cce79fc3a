// The table's own half of operations beside other threads (dash/thread_steps.h, author_steps.h): where the records of a
// hash are while the table grows, and who splits.
//
// A split holds every bucket of the origin until the new segment is NORMAL. An operation first holds two buckets of a
// segment, or notes their versions, and then looks up the segment of its hash. If the hash leads to the segment of the
// two buckets, the records stay there.
#include "targets/common/planted_bugs.h"
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {

Segment* Table::SegmentOf(const Hash& hash) const {
  uint64_t index = round().Index(hash);
  while (!IsSettled(SegmentOf(index))) index = Origin(index);
  return SegmentOf(index);
}

// A segment that others fill at the moment has the table's version already, unlike one that a crash has left so.
std::optional<uint64_t> Table::Unrecovered(const Hash& hash) const {
  for (uint64_t index = round().Index(hash);; index = Origin(index)) {
    const Segment* segment = SegmentOf(index);
    // The authors' threads lock an absent segment, so it may have been cut with its locks held.
    if (pmem::atomic_load(&segment->state) == kAbsent && !AsAuthors()) continue;
    if (!IsRecovered(segment)) return index;
    if (IsSettled(segment)) return std::nullopt;
  }
}

void Table::LockAll(Segment* segment) {
  for (uint32_t b = 0; b < options_.buckets; ++b) Lock(segment, b);
}

void Table::UnlockAll(Segment* segment) {
  for (uint32_t b = 0; b < options_.buckets; ++b) Unlock(segment, b);
}

// If there is no memory for a segment of its own, the hash stays with the segment that has its records now.
powercut_status Table::AcquireBeside(const Hash& hash, Segment** out) {
  for (bool full = false;;) {
    powercut_status status = RecoverBeside(hash);
    if (status != POWERCUT_OK) return status;
    const uint64_t wanted = round().Index(hash);
    uint64_t index = wanted, fresh = wanted;
    while (!IsSettled(SegmentOf(index))) {
      fresh = index;
      index = Origin(index);
    }
    *out = SegmentOf(index);
    if (index == wanted || full) return POWERCUT_OK;
    status = SplitBeside(fresh);
    full = status == POWERCUT_FULL;
    if (status != POWERCUT_OK && !full) return status;
  }
}

powercut_status Table::RecoverBeside(const Hash& hash) {
  if (!Unrecovered(hash)) return POWERCUT_OK;
  const SpinGuard guard(Has(Bug::kRecoveryUnlocked) ? nullptr : LockOf(&Locks::recovery));
  while (const std::optional<uint64_t> index = Unrecovered(hash)) {
    const powercut_status status = Recover(*index);
    if (status != POWERCUT_OK) return status;
  }
  return POWERCUT_OK;
}

powercut_status Table::SplitBeside(uint64_t fresh) {
  Segment* segment = SegmentOf(Origin(fresh));
  SKIP_IF (Bug::kSplitUnlocked) LockAll(segment);
  powercut_status status = POWERCUT_OK;
  if (!IsSettled(SegmentOf(fresh)) || Has(Bug::kSplitTwice)) {
    // Another thread may have raised N and Next, and not flushed them yet. Without them nobody would find what moves.
    SKIP_IF (Bug::kRoundNotAwaited) pmem::persist(&root()->round, sizeof root()->round);
    status = Split(fresh);
  }
  SKIP_IF (Bug::kSplitUnlocked) UnlockAll(segment);
  return status;
}

bool Table::TryLookupAs(Segment* segment, const Key& key, const Hash& hash, ValueRoom* value, powercut_status* status) {
  return AsAuthors() ? TryLookupAsAuthors(segment, key, hash, value, status)
                     : TryLookup(segment, key, hash, value, status);
}

bool Table::SearchUnrecovered(const Key& key, const Hash& hash, ValueRoom* value, powercut_status* status) {
  for (uint64_t index = round().Index(hash);; index = Origin(index)) {
    Segment* segment = SegmentOf(index);
    const bool settled = IsSettled(segment);
    // `published`: the origin of a segment that is left over may be recovered, and in use.
    if (settled && IsRecovered(segment)) return TryLookupAs(segment, key, hash, value, status);
    if (!Counts(segment)) continue;
    const Spot spot = FindIn(segment, key, hash);
    if (spot.found()) PutValue(spot.bucket->record[spot.slot], value);
    *status = spot.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
    if (spot.found() || settled || options_.hardened) return true;
  }
}

// The authors' code locks the new segment, and then does not look whether another thread has split in the meantime.
powercut_status Table::AcquireAsAuthors(const Hash& hash, Segment** out) {
  for (;;) {
    powercut_status status = RecoverBeside(hash);
    if (status != POWERCUT_OK) return status;
    const uint64_t index = round().Index(hash);
    Segment* segment = *out = SegmentOf(index);
    if (!TryLockPair(segment, hash)) continue;
    const bool settled = IsSettled(segment), current = round().Index(hash) == index;
    if (settled && current) return POWERCUT_OK;
    UnlockPair(segment, hash);
    if (settled) continue;
    LockAll(segment);
    if (round().Index(hash) == index) status = SplitBesideAsAuthors(index);
    UnlockAll(segment);
    if (status != POWERCUT_OK) return status;
  }
}

powercut_status Table::SplitBesideAsAuthors(uint64_t fresh) {
  Segment* segment = SegmentOf(Origin(fresh));
  LockAll(segment);
  powercut_status status = POWERCUT_OK;
  if (!IsSettled(segment)) status = SplitBesideAsAuthors(Origin(fresh));
  if (status == POWERCUT_OK) status = Split(fresh);
  UnlockAll(segment);
  return status;
}

std::optional<powercut_status> Table::MakeRoomAsAuthors(Segment* segment, const Record& record, const Hash& hash) {
  bool grown = false;
  Lock(segment, stash_lock());
  const bool placed = PlaceInStash(segment, record, hash, dash::kDurable) ||
                      PlaceInChain(segment, record, hash, dash::kDurable, &grown);
  Unlock(segment, stash_lock());
  UnlockPair(segment, hash);
  if (options_.displacement) Unlock(segment, Previous(hash.bucket(bucket_mask())));
  if (grown) Expand();
  return placed ? POWERCUT_OK : POWERCUT_FULL;
}

}  // namespace powercut::dash_lh

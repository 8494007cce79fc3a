// The table's own half of operations beside other threads (thread_steps.h, author_steps.h), `published` included:
// splits. A split that meets a doubling changes the new directory once more.
#include "targets/dash/table.h"

namespace powercut::dash {

bool Table::TryLookupAs(Segment* segment, const Key& key, const Hash& hash, ValueRoom* value, powercut_status* status) {
  return AsAuthors() ? TryLookupAsAuthors(segment, key, hash, value, status)
                     : TryLookup(segment, key, hash, value, status);
}

bool Table::SearchUnrecovered(const Key& key, const Hash& hash, ValueRoom* value, powercut_status* status) {
  const Place place = Find(key, hash);
  *status = place.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
  if (place.found()) PutValue(place.segment->bucket(place.bucket)->record[place.slot], value);
  return true;
}

powercut_status Table::AcquireAsAuthors(const Hash& hash, Segment** out) {
  for (;;) {
    const powercut_status status = Acquire(hash, out);
    if (status != POWERCUT_OK) return status;
    if (!TryLockPair(*out, hash)) continue;
    if (SegmentOf(hash) == *out) return POWERCUT_OK;
    UnlockPair(*out, hash);
  }
}

std::optional<powercut_status> Table::MakeRoomAsAuthors(Segment* segment, const Record& record, const Hash& hash) {
  const uint32_t previous = Previous(hash.bucket(bucket_mask()));
  bool placed = false;
  if (has_stash() && TryLock(segment, stash_lock())) {
    placed = PlaceInStash(segment, record, hash, kDurable);
    Unlock(segment, stash_lock());
  } else if (has_stash()) {
    if (options_.displacement) Unlock(segment, previous);
    UnlockPair(segment, hash);
    AwaitUnlocked(segment, stash_lock());
    return std::nullopt;
  }
  UnlockPair(segment, hash);
  if (options_.displacement) Unlock(segment, previous);
  if (placed) return POWERCUT_OK;
  const powercut_status status = SplitAsAuthors(segment, hash);
  if (status != POWERCUT_OK) return status;
  return std::nullopt;
}

// OK: the insert begins again.
powercut_status Table::SplitAsAuthors(Segment* segment, const Hash& hash) {
  if (!TryLockOr(segment, 0, {})) return POWERCUT_OK;
  if (SegmentOf(hash) != segment) {
    Unlock(segment, 0);
    return POWERCUT_OK;
  }
  for (uint32_t b = 1; b < options_.buckets; ++b) Lock(segment, b);
  const powercut_status status = Split(segment);
  for (uint32_t b = 0; b < options_.buckets; ++b) Unlock(segment, b);
  return status;
}

// Splits do not lock the directory. A split that a doubling overtakes does all steps again in the new directory, and
// counts the local depth up again.
void Table::PublishAsAuthors(Segment* segment, Segment* fresh) {
  for (;; pmem::pause()) {
    const uint64_t directory = pmem::atomic_load(&root()->directory);
    if (pmem::atomic_load(&locks_.directory) != 0) continue;
    __atomic_fetch_add(&updating_, 1, __ATOMIC_ACQ_REL);
    const Identity identity = fresh->Which();
    const uint32_t below = static_cast<uint32_t>(directory & 0xff) - identity.depth;
    auto* first = reinterpret_cast<uint64_t*>(pool_.base + (directory & ~uint64_t{0xff})) + (identity.pattern << below);
    const uint64_t count = uint64_t{1} << below;
    for (uint64_t i = count; i-- > 0;) pmem::atomic_store(first + i, OffsetOf(fresh));
    pmem::persist(first, count * sizeof *first);
    pmem::atomic_store(&segment->identity, Identity{segment->Which().depth + 1, identity.pattern - 1}.Encode());
    pmem::persist(&segment->identity, sizeof segment->identity);
    __atomic_fetch_sub(&updating_, 1, __ATOMIC_ACQ_REL);
    if (pmem::atomic_load(&locks_.directory) == 0 && pmem::atomic_load(&root()->directory) == directory) return;
  }
}

}  // namespace powercut::dash

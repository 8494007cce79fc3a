// Operations beside other threads, `published` (concurrency=concurrent; README.md, "Threads"): the protocol of the
// authors' code, races included. A bucket is released before its bits are durable, a lookup that ends in the stash does
// not look at the version again, and a split that meets a doubling changes the directory once more.
#include "targets/dash/table.h"

namespace powercut::dash {

// The second bucket, and those of a displacement, are only tried. An operation that does not get one begins again; here
// it waits first until that bucket has been free once.
bool Table::TryLockOr(Segment* segment, uint32_t bucket, std::initializer_list<uint32_t> held) {
  if (TryLock(segment, bucket)) return true;
  for (uint32_t other : held) Unlock(segment, other);
  AwaitUnlocked(segment, bucket);
  return false;
}

void Table::PersistWord(Segment* segment, uint32_t bucket) {
  pmem::persist(&segment->bucket(bucket)->word, sizeof(uint32_t));
}

powercut_status Table::AcquireAsAuthors(const Hash& hash, Segment** out) {
  const uint32_t home = hash.bucket(bucket_mask());
  for (;;) {
    const powercut_status status = Acquire(hash, out);
    if (status != POWERCUT_OK) return status;
    Lock(*out, home);
    if (!TryLockOr(*out, Next(home), {home})) continue;
    if (SegmentOf(hash) == *out) return POWERCUT_OK;
    Unlock(*out, Next(home));
    Unlock(*out, home);
  }
}

powercut_status Table::InsertAsAuthors(const Record& record, const Hash& hash) {
  const uint32_t home = hash.bucket(bucket_mask());
  for (;;) {
    Segment* segment = nullptr;
    powercut_status status = AcquireAsAuthors(hash, &segment);
    if (status != POWERCUT_OK) return status;
    if (FindHeld(segment, record.key, hash).found()) {
      Unlock(segment, Next(home));
      Unlock(segment, home);
      return POWERCUT_EXISTS;
    }
    switch (PlaceAsAuthors(segment, record, hash)) {
      case Attempt::kPlaced:
        return POWERCUT_OK;
      case Attempt::kBusy:
        break;
      case Attempt::kFull:
        status = SplitAsAuthors(segment, hash);
        if (status != POWERCUT_OK) return status;
    }
  }
}

// The caller has the two buckets of the key, and none at return.
Table::Attempt Table::PlaceAsAuthors(Segment* segment, const Record& record, const Hash& hash) {
  const uint32_t home = hash.bucket(bucket_mask()), next = Next(home), far = Next(next), previous = Previous(home);
  const Word mine = segment->bucket(home)->Load(), beside = segment->bucket(next)->Load();
  if (!Full(mine) || !Full(beside)) {
    const bool probing = options_.balance ? beside.count() < mine.count() : Full(mine);
    pmem::mark(probing ? "insert.probing" : "insert.home");
    Fill(segment, probing ? next : home, record, hash.fingerprint(), probing, kRecordOnly);
    Unlock(segment, probing ? next : home);
    PersistWord(segment, probing ? next : home);
    Unlock(segment, probing ? home : next);
    return Attempt::kPlaced;
  }
  if (options_.displacement) {
    if (!TryLockOr(segment, far, {next, home})) return Attempt::kBusy;
    if (DisplaceAsAuthors(segment, next, far, home, record, hash)) return Attempt::kPlaced;
    Unlock(segment, far);
    if (!TryLockOr(segment, previous, {next, home})) return Attempt::kBusy;
    if (DisplaceAsAuthors(segment, home, previous, next, record, hash)) return Attempt::kPlaced;
  }
  bool placed = false;
  if (has_stash() && TryLock(segment, stash_lock())) {
    placed = PlaceInStash(segment, record, hash, kDurable);
    Unlock(segment, stash_lock());
  } else if (has_stash()) {
    if (options_.displacement) Unlock(segment, previous);
    Unlock(segment, next);
    Unlock(segment, home);
    AwaitUnlocked(segment, stash_lock());
    return Attempt::kBusy;
  }
  Unlock(segment, next);
  Unlock(segment, home);
  if (options_.displacement) Unlock(segment, previous);
  return placed ? Attempt::kPlaced : Attempt::kFull;
}

// Each bucket is released before its bits are durable. False: nothing is released.
bool Table::DisplaceAsAuthors(Segment* segment, uint32_t from, uint32_t to, uint32_t other, const Record& record,
                              const Hash& hash) {
  Bucket* bucket = segment->bucket(from);
  const bool member = from == hash.bucket(bucket_mask());
  const Word word = bucket->Load();
  const uint32_t movable = word.allocated() & (member ? word.members() : ~word.members());
  if (movable == 0 || Full(segment->bucket(to)->Load())) return false;
  pmem::mark(member ? "displace.previous" : "displace.next");
  const auto slot = static_cast<uint32_t>(std::countr_zero(movable));
  Fill(segment, to, Record{bucket->record[slot]}, bucket->fingerprint[slot], !member, kRecordOnly);
  Unlock(segment, to);
  PersistWord(segment, to);
  Clear({segment, from, slot}, kDurable);
  Fill(segment, from, record, hash.fingerprint(), !member, kRecordOnly);
  Unlock(segment, from);
  PersistWord(segment, from);
  Unlock(segment, other);
  return true;
}

// The authors' code has no update. This one follows their order for a delete.
powercut_status Table::UpdateAsAuthors(uint64_t key, uint64_t value, const Hash& hash) {
  Segment* segment = nullptr;
  const powercut_status status = AcquireAsAuthors(hash, &segment);
  if (status != POWERCUT_OK) return status;
  const uint32_t home = hash.bucket(bucket_mask()), next = Next(home);
  const Place place = FindHeld(segment, key, hash);
  const uint32_t first = place.bucket == next ? next : home;
  uint64_t* at = &segment->bucket(place.bucket)->record[place.slot].value;
  if (place.found()) pmem::atomic_store(at, value);
  Unlock(segment, first);
  if (place.found()) pmem::persist(at, sizeof *at);
  Unlock(segment, first == home ? next : home);
  if (place.found()) pmem::mark("update");
  return place.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
}

powercut_status Table::EraseAsAuthors(uint64_t key, const Hash& hash) {
  Segment* segment = nullptr;
  const powercut_status status = AcquireAsAuthors(hash, &segment);
  if (status != POWERCUT_OK) return status;
  const uint32_t home = hash.bucket(bucket_mask()), next = Next(home);
  const Place place = FindHeld(segment, key, hash);
  if (!place.found()) {
    Unlock(segment, next);
    Unlock(segment, home);
    return POWERCUT_NOT_FOUND;
  }
  if (place.bucket < options_.buckets) {
    Clear(place, kDeferred);
    Unlock(segment, place.bucket);
    PersistWord(segment, place.bucket);
    Unlock(segment, place.bucket == home ? next : home);
    pmem::mark("erase");
    return POWERCUT_OK;
  }
  Lock(segment, stash_lock());
  Clear(place, kDeferred);
  Unlock(segment, stash_lock());
  PersistWord(segment, place.bucket);
  RemoveOverflow(segment, hash, place.bucket - options_.buckets);
  Unlock(segment, next);
  Unlock(segment, home);
  pmem::mark("erase.stash");
  return POWERCUT_OK;
}

Place Table::ProbeAsAuthors(Segment* segment, uint32_t index, uint32_t slots, uint64_t key, const Hash& hash) {
  const Bucket* bucket = segment->bucket(index);
  for (; slots != 0; slots &= slots - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(slots));
    if (options_.fingerprints && pmem::atomic_load(&bucket->fingerprint[slot]) != hash.fingerprint()) continue;
    if (pmem::atomic_load(&bucket->record[slot].key) == key) return {segment, index, slot};
  }
  return {};
}

// The version of the first bucket is looked at before the second one is searched, and after a hit in the stash.
bool Table::TryLookupAsAuthors(Segment* segment, uint64_t key, const Hash& hash, uint64_t* value,
                               powercut_status* status) {
  const uint32_t home = hash.bucket(bucket_mask()), next = Next(home);
  const auto version = [&](uint32_t bucket) { return pmem::atomic_load(&segment->bucket(bucket)->lock); };
  const uint32_t my_version = version(home), next_version = version(next);
  if (((my_version | next_version) & Bucket::kLocked) != 0 || SegmentOf(hash) != segment) return false;
  const auto found = [&](const Place& place) {
    if (place.found()) *value = pmem::atomic_load(&segment->bucket(place.bucket)->record[place.slot].value);
    return place.found();
  };
  *status = POWERCUT_OK;
  const Word mine = segment->bucket(home)->Load();
  const bool in_mine = found(ProbeAsAuthors(segment, home, mine.allocated() & ~mine.members(), key, hash));
  if (version(home) != my_version) return false;
  if (in_mine) return true;
  const Word beside = segment->bucket(next)->Load();
  const bool in_next = found(ProbeAsAuthors(segment, next, beside.allocated() & beside.members(), key, hash));
  if (version(next) != next_version) return false;
  if (in_next) return true;
  for (uint32_t rest = StashOf(segment, hash, true); rest != 0; rest &= rest - 1) {
    const uint32_t index = options_.buckets + static_cast<uint32_t>(std::countr_zero(rest));
    if (!found(ProbeAsAuthors(segment, index, segment->bucket(index)->Load().allocated(), key, hash))) continue;
    return version(home) == my_version;
  }
  *status = POWERCUT_NOT_FOUND;
  return true;
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

// Splits do not lock the directory. One that a doubling overtakes does it all again in the new one, and counts the
// local depth up again.
void Table::PublishAsAuthors(Segment* segment, Segment* fresh) {
  for (;; pmem::pause()) {
    const uint64_t directory = pmem::atomic_load(&root()->directory);
    if (pmem::atomic_load(&locks_.directory) != 0) continue;
    __atomic_fetch_add(&locks_.updating, 1, __ATOMIC_ACQ_REL);
    const Identity identity = fresh->Which();
    const uint32_t below = static_cast<uint32_t>(directory & 0xff) - identity.depth;
    auto* first = reinterpret_cast<uint64_t*>(pool_.base + (directory & ~uint64_t{0xff})) + (identity.pattern << below);
    const uint64_t count = uint64_t{1} << below;
    for (uint64_t i = count; i-- > 0;) pmem::atomic_store(first + i, OffsetOf(fresh));
    pmem::persist(first, count * sizeof *first);
    pmem::atomic_store(&segment->identity, Identity{segment->Which().depth + 1, identity.pattern - 1}.Encode());
    pmem::persist(&segment->identity, sizeof segment->identity);
    __atomic_fetch_sub(&locks_.updating, 1, __ATOMIC_ACQ_REL);
    if (pmem::atomic_load(&locks_.directory) == 0 && pmem::atomic_load(&root()->directory) == directory) return;
  }
}

}  // namespace powercut::dash

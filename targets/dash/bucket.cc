// What every operation is made of: bucket locks, the record and its bits, overflow metadata.
#include "targets/dash/table.h"

namespace powercut::dash {

void Table::AwaitUnlocked(Segment* segment, uint32_t bucket) const {
  while ((pmem::atomic_load(&segment->bucket(bucket)->lock) & Bucket::kLocked) != 0) pmem::pause();
}

bool Table::TryLock(Segment* segment, uint32_t bucket) {
  uint32_t* lock = &segment->bucket(bucket)->lock;
  uint32_t seen = pmem::atomic_load(lock);
  return (seen & Bucket::kLocked) == 0 &&
         __atomic_compare_exchange_n(lock, &seen, seen | Bucket::kLocked, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void Table::Lock(Segment* segment, uint32_t bucket) {
  AwaitUnlocked(segment, bucket);
  if (options_.concurrent && !Has(Bug::kLockByStore)) {
    while (!TryLock(segment, bucket)) AwaitUnlocked(segment, bucket);
    return;
  }
  uint32_t* lock = &segment->bucket(bucket)->lock;
  pmem::atomic_store(lock, pmem::atomic_load(lock) | Bucket::kLocked);
}

// The release is not flushed: after a crash every lock is reset. close() must write it back.
void Table::Unlock(Segment* segment, uint32_t bucket) {
  uint32_t* lock = &segment->bucket(bucket)->lock;
  pmem::atomic_store(lock, (pmem::atomic_load(lock) + 1) & ~Bucket::kLocked);
  if (!options_.concurrent) segments_.Touch(OffsetOf(segment), bucket);
}

// The record is durable before the word that makes it count. The fingerprint shares a line with the word
// and is stored before it, so that no crash shows the word without it.
void Table::Fill(Segment* segment, uint32_t index, const Record& record, uint8_t fingerprint, bool member,
                 Durability durability) {
  Bucket* bucket = segment->bucket(index);
  const Word word = bucket->Load();
  const auto slot = static_cast<uint32_t>(std::countr_one(word.allocated()));
  Record* at = &bucket->record[slot];
  pmem::atomic_store(&at->value, record.value);
  pmem::atomic_store(&at->key, record.key);
  if (durability != kDeferred && !Has(Bug::kWordBeforeRecord)) {
    pmem::persist(at, sizeof *at);
    pmem::mark("insert.record");
  }
  pmem::atomic_store(&bucket->fingerprint[slot], fingerprint);
  if (Has(Bug::kMembershipApart) && member) {
    bucket->Store(word.With(slot, false));
    pmem::atomic_store(&bucket->word, bucket->word | 1u << (18 + slot));
  } else {
    bucket->Store(word.With(slot, member));
  }
  if (durability == kDurable && !Has(Bug::kWordNotFlushed)) pmem::persist(&bucket->word, sizeof bucket->word);
  if (durability == kDurable && Has(Bug::kWordBeforeRecord)) pmem::persist(at, sizeof *at);
}

void Table::Clear(const Place& place, Durability durability) {
  Bucket* bucket = place.segment->bucket(place.bucket);
  bucket->Store(bucket->Load().Without(1u << place.slot));
  if (durability == kDurable) pmem::persist(&bucket->word, sizeof bucket->word);
}

// A fingerprint in the home bucket; if that has none free, in the bucket after it; else only a count.
void Table::AddOverflow(Segment* segment, const Hash& hash, uint32_t stash) {
  const uint32_t home = hash.bucket(bucket_mask());
  Overflow* mine = &segment->bucket(home)->overflow;
  bool noted = false;
  for (uint32_t index : {home, Next(home)}) {
    Overflow* at = &segment->bucket(index)->overflow;
    if (at->used == 15) continue;
    const auto free = static_cast<uint32_t>(std::countr_one(static_cast<uint8_t>(at->used)));
    at->fingerprint[free] = hash.fingerprint();
    at->place = static_cast<uint8_t>((at->place & ~(3u << (2 * free))) | stash << (2 * free));
    if (index != home) {
      pmem::mark("overflow.neighbour");
      at->members = static_cast<uint8_t>(at->members | 1u << free) & 15;
    }
    at->used = static_cast<uint8_t>(at->used | 1u << free) & 15;
    noted = true;
    break;
  }
  if (!noted) {
    pmem::mark("overflow.counted");
    ++mine->count;
  }
  mine->any = 1;
}

void Table::RemoveOverflow(Segment* segment, const Hash& hash, uint32_t stash) {
  const uint32_t home = hash.bucket(bucket_mask());
  Overflow* mine = &segment->bucket(home)->overflow;
  Overflow* next = &segment->bucket(Next(home))->overflow;
  const auto drop = [&](Overflow* at, uint32_t candidates) {
    for (; candidates != 0; candidates &= candidates - 1) {
      const auto i = static_cast<uint32_t>(std::countr_zero(candidates));
      if (at->fingerprint[i] != hash.fingerprint() || (at->place >> (2 * i) & 3u) != stash) continue;
      at->used = static_cast<uint8_t>(at->used & ~(1u << i)) & 15;
      at->members = static_cast<uint8_t>(at->members & ~(1u << i)) & 15;
      return true;
    }
    return false;
  };
  if (!drop(mine, mine->used & ~mine->members & 15u) && !drop(next, next->used & next->members) && mine->count != 0) {
    --mine->count;
  }
  mine->any = (mine->used & ~mine->members & 15) != 0 || (next->used & next->members) != 0 || mine->count != 0 ? 1 : 0;
}

uint32_t Table::StashOf(Segment* segment, const Hash& hash, bool trusted) const {
  const uint32_t all = (1u << options_.stash) - 1;
  if (!options_.overflow || !(trusted || Has(Bug::kOverflowTrusted))) return all;
  const uint32_t home = hash.bucket(bucket_mask());
  // One load each: a reader without a lock may come between the stores of a writer, and looks at the version later.
  const auto load = [&](uint32_t index) {
    return std::bit_cast<Overflow>(
        pmem::atomic_load(reinterpret_cast<const uint64_t*>(&segment->bucket(index)->overflow)));
  };
  const Overflow mine = load(home);
  if (mine.any == 0) return 0;
  if (mine.count != 0) return all;
  const Overflow next = load(Next(home));
  uint32_t found = 0;
  const auto match = [&](const Overflow& at, uint32_t candidates) {
    for (uint32_t i = 0; i < 4; ++i) {
      if ((candidates >> i & 1) != 0 && at.fingerprint[i] == hash.fingerprint())
        found |= 1u << (at.place >> (2 * i) & 3);
    }
  };
  match(mine, mine.used & ~mine.members & 15u);
  match(next, next.used & next.members);
  return found & all;
}

}  // namespace powercut::dash

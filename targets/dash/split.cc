// Segment split: mark SPLITTING, link a NEW segment, rehash into the NEW segment, clear the moved records, change the
// directory and the local depth, clear both states. Whatever a crash interrupts, recovery of the old segment completes.
#include "targets/common/planted_bugs.h"
#include "targets/dash/table.h"

namespace powercut::dash {

powercut_status Table::Split(Segment* segment) {
  const Identity old = segment->Which();
  powercut_status status = WidenDirectory(old.depth);
  if (status != POWERCUT_OK) return status;
  SpinGuard memory(LockOf(&Locks::memory));
  if (!segments_.Reserve()) return POWERCUT_FULL;
  memory.Unlock();
  const Identity identity{old.depth + 1, old.pattern << 1 | 1};
  if (!options_.concurrent) {
    for (uint32_t b = 0; b < all_buckets(); ++b) Lock(segment, b);
  }
  StoreField(&segment->state, kSplitting);
  pmem::mark("split.begun");
  status = POWERCUT_FULL;
  const uint64_t block = Allocate(segment_bytes());
  if (block == 0) {
    memory.Lock(LockOf(&Locks::memory));
    segments_.Unreserve();
    memory.Unlock();
    pmem::mark("split.full");
    StoreField(&segment->state, kNormal);
  } else {
    Segment* fresh = SegmentAt(block);
    WriteSegment(fresh, identity, segment->link, kNew);
    // `published` looks into a linked segment whatever the crash left of its records; `hardened` does not before
    // they are durable, and clears the buckets then.
    if (!options_.hardened) {
      ClearBuckets(fresh);
      for (uint32_t b = 0; b < all_buckets(); ++b) pmem::flush(fresh->bucket(b), pmem::kLine);
    }
    pmem::fence();
    StoreField(&segment->link, block);
    memory.Lock(LockOf(&Locks::memory));
    segments_.Add(block);
    memory.Unlock();
    pmem::mark("split.linked");
    status = FinishSplit(segment, fresh, /*resumed=*/false);
  }
  if (!options_.concurrent) {
    for (uint32_t b = 0; b < all_buckets(); ++b) Unlock(segment, b);
  }
  return status;
}

// Flushed, not fenced.
void Table::WriteSegment(Segment* segment, Identity identity, uint64_t link, State state) const {
  segment->identity = identity.Encode();
  segment->link = link;
  segment->state = state;
  segment->version = root()->version;
  pmem::flush(segment, sizeof(uint64_t) * 4);
}

powercut_status Table::FinishSplit(Segment* segment, Segment* fresh, bool resumed) {
  const Identity identity = fresh->Which();
  if (fresh->state == kNew) {
    // Nobody has lost a record to the new segment yet, so `hardened` can begin again. `published` goes on with what it
    // finds there.
    if (options_.hardened) ClearBuckets(fresh);
    if (!Rehash(segment, fresh, /*check_unique=*/resumed && !options_.hardened)) {
      if (resumed && !options_.hardened) return POWERCUT_FULL;
      pmem::mark("split.in_place");
      CopyInPlace(segment, fresh);
    }
    DO_IF (Bug::kSplitPublishedEarly) PointDirectoryAt(fresh);
    DO_IF (Bug::kSplitClearedEarly) ClearMoved(segment, identity);
    WriteBackAll(fresh);
    pmem::mark("split.copied");
    DO_IF (Bug::kSplitShownEarly) PointDirectoryAt(fresh);
    if (options_.hardened) StoreField(&fresh->state, kFilled);
  }
  SKIP_IF (Bug::kSplitClearedEarly) ClearMoved(segment, identity);
  pmem::mark("split.cleared");
  // Nobody else may split the new segment while its state is this split's: that takes the first bucket.
  const bool locks = options_.concurrent && !resumed && !Has(Bug::kFreshUnlocked);
  if (locks) Lock(fresh, 0);
  const bool as_authors = AsAuthors() && !resumed;
  if (as_authors) PublishAsAuthors(segment, fresh);
  if (!as_authors && !Has(Bug::kSplitPublishedEarly)) PointDirectoryAt(fresh);
  pmem::mark("split.published");
  if (!as_authors) pmem::atomic_store(&segment->identity, Identity{identity.depth, identity.pattern - 1}.Encode());
  SKIP_IF (Bug::kDepthNotFlushed) pmem::persist(&segment->identity, sizeof segment->identity);
  // The new segment first: a segment that is NEW for ever would make recovery resume a later split that has not begun.
  const bool swapped = Has(Bug::kSplitStatesSwapped);
  StoreField(swapped ? &segment->state : &fresh->state, kNormal);
  pmem::mark("split.normal");
  StoreField(swapped ? &fresh->state : &segment->state, kNormal);
  if (locks) Unlock(fresh, 0);
  pmem::mark("split.done");
  return POWERCUT_OK;
}

// False: the records do not fit, since they come in another order than before.
bool Table::Rehash(Segment* segment, Segment* fresh, bool check_unique) {
  const Identity identity = fresh->Which();
  for (uint32_t b = 0; b < all_buckets(); ++b) {
    const Bucket* bucket = segment->bucket(b);
    for (uint32_t rest = bucket->Load().allocated(); rest != 0; rest &= rest - 1) {
      const Record& record = bucket->record[std::countr_zero(rest)];
      const Hash hash = HashOf(record);
      if (!identity.Covers(hash)) continue;
      if (check_unique && FindIn(fresh, KeyOf(record), hash).found()) continue;
      if (!PlaceRecord(fresh, record, hash, kDeferred)) return false;
    }
  }
  return true;
}

// Each record to the slot that it has now: always fits.
void Table::CopyInPlace(Segment* segment, Segment* fresh) {
  const Identity identity = fresh->Which();
  ClearBuckets(fresh);
  for (uint32_t b = 0; b < all_buckets(); ++b) {
    const Bucket* from = segment->bucket(b);
    Bucket* to = fresh->bucket(b);
    const Word word = from->Load();
    for (uint32_t rest = word.allocated(); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
      const Hash hash = HashOf(from->record[slot]);
      if (!identity.Covers(hash)) continue;
      to->record[slot] = from->record[slot];
      to->fingerprint[slot] = hash.fingerprint();
      to->Store(to->Load().With(slot, word.member(slot)));
      if (b >= options_.buckets) AddOverflow(fresh, hash, b - options_.buckets);
    }
  }
}

void Table::WriteBackAll(Segment* segment) const {
  for (uint32_t b = 0; b < all_buckets(); ++b) WriteBack(segment->bucket(b));
  pmem::fence();
}

void Table::ClearMoved(Segment* segment, Identity moved) {
  bool flushed = false;
  for (uint32_t b = 0; b < all_buckets(); ++b) {
    Bucket* bucket = segment->bucket(b);
    const uint32_t slots = SlotsOf(bucket, [&](const Hash& hash) { return moved.Covers(hash); });
    if (slots == 0) continue;
    for (uint32_t rest = b < options_.buckets ? 0 : slots; rest != 0; rest &= rest - 1) {
      RemoveOverflow(segment, HashOf(bucket->record[std::countr_zero(rest)]), b - options_.buckets);
    }
    bucket->Store(bucket->Load().Without(slots));
    pmem::flush(&bucket->word, sizeof bucket->word);
    if (!options_.concurrent) segments_.Settle(OffsetOf(segment), b);
    flushed = true;
  }
  if (flushed) pmem::fence();
}

}  // namespace powercut::dash

// Split: the records of an absent segment are moved out of its origin when an operation first needs the segment. Mark
// both, copy, clear what moved, move the chain's records back, clear both states.
#include "targets/common/planted_bugs.h"
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {

powercut_status Table::Split(uint64_t index) {
  Segment* segment = SegmentOf(Origin(index));
  Segment* fresh = SegmentOf(index);
  if (!options_.concurrent) LockAll(segment);
  // Before the state: nobody shall take it for a segment that a crash has left NEW.
  pmem::atomic_store(&fresh->version, root()->version);
  // invariant of `hardened`: a segment is NEW or FILLED only if its origin is SPLITTING, on the medium too.
  if (options_.hardened) StoreField(&segment->state, kSplitting);
  StoreField(&fresh->state, kNew);
  if (!options_.hardened) StoreField(&segment->state, kSplitting);
  pmem::mark("split.begun");
  const powercut_status status = options_.hardened ? SplitHardened(index) : SplitAsAuthors(index);
  if (!options_.concurrent) UnlockAll(segment);
  return status;
}

// The contents of a NEW segment do not count, whatever a crash has left there: the segment is cleared first.
powercut_status Table::SplitHardened(uint64_t index) {
  Segment* segment = SegmentOf(Origin(index));
  Segment* fresh = SegmentOf(index);
  ClearBuckets(fresh);
  fresh->chain = 0;
  bool fits = true;
  ForEachBucket(segment, [&](Bucket* bucket, uint32_t) {
    const uint32_t slots = SlotsOf(bucket, [&](const Hash& hash) { return Moves(hash, index); });
    for (uint32_t rest = slots; rest != 0 && fits; rest &= rest - 1) {
      const Record& record = bucket->record[std::countr_zero(rest)];
      const Hash hash = HashOf(record);
      bool grown = false;
      fits = PlaceRecord(fresh, record, hash, dash::kDeferred) ||
             PlaceInChain(fresh, record, hash, dash::kDeferred, &grown);
    }
  });
  if (!fits) {
    GiveUpSplit(segment, fresh);
    return POWERCUT_FULL;
  }
  DO_IF (Bug::kSplitClearedEarly) ClearMoved(segment, index);
  DO_IF (Bug::kSplitFilledEarly) StoreField(&fresh->state, kFilled);
  pmem::mark("split.copied");
  WriteBackAll(fresh);
  SKIP_IF (Bug::kSplitFilledEarly) StoreField(&fresh->state, kFilled);
  pmem::mark("split.filled");
  FinishSplit(index);
  return POWERCUT_OK;
}

// The new segment first: one that is FILLED for ever would be split again over its records.
void Table::FinishSplit(uint64_t index) {
  Segment* segment = SegmentOf(Origin(index));
  Segment* fresh = SegmentOf(index);
  SKIP_IF (Bug::kSplitClearedEarly) ClearMoved(segment, index);
  pmem::mark("split.cleared");
  Compact(segment);
  pmem::mark("split.compacted");
  StoreField(&fresh->state, kNormal);
  pmem::mark("split.normal");
  StoreField(&segment->state, kNormal);
  pmem::mark("split.done");
}

// There is no memory for the new segment's chain.
void Table::GiveUpSplit(Segment* segment, Segment* fresh) {
  pmem::mark("split.full");
  StoreField(&fresh->state, kAbsent);
  StoreField(&segment->state, kNormal);
  for (uint64_t at = fresh->chain; at != 0;) {
    const uint64_t next = BucketAt(at)->next;
    Free(at);
    at = next;
  }
}

void Table::ClearMoved(Segment* segment, uint64_t fresh) {
  bool flushed = false;
  ForEachBucket(segment, [&](Bucket* bucket, uint32_t stash) {
    const uint32_t slots = SlotsOf(bucket, [&](const Hash& hash) { return Moves(hash, fresh); });
    if (slots == 0) return;
    for (uint32_t rest = stash == Spot::kInPair ? 0 : slots; rest != 0; rest &= rest - 1) {
      RemoveOverflow(segment, HashOf(bucket->record[std::countr_zero(rest)]), stash);
    }
    bucket->Store(bucket->Load().Without(slots));
    pmem::flush(&bucket->word, sizeof bucket->word);
    flushed = true;
  });
  if (flushed) pmem::fence();
}

void Table::WriteBackAll(Segment* segment) {
  pmem::flush_line(segment);
  ForEachBucket(segment, [](Bucket* bucket, uint32_t) { WriteBack(bucket); });
  pmem::fence();
}

// The authors' Split goes on with the records that are already in the new segment. Records of the chain are moved after
// the new segment was made durable, and are not flushed.
powercut_status Table::SplitAsAuthors(uint64_t index) {
  Segment* segment = SegmentOf(Origin(index));
  Segment* fresh = SegmentOf(index);
  const auto copy = [&](const Bucket* bucket) {
    const uint32_t slots = SlotsOf(bucket, [&](const Hash& hash) { return Moves(hash, index); });
    for (uint32_t rest = slots; rest != 0; rest &= rest - 1) {
      const Record& record = bucket->record[std::countr_zero(rest)];
      if (!PlaceAsAuthors(fresh, record, HashOf(record), dash::kDeferred)) return false;
    }
    return true;
  };
  uint32_t moved[64 + kChain] = {};
  for (uint32_t b = 0; b < all_buckets(); ++b) {
    moved[b] = SlotsOf(segment->bucket(b), [&](const Hash& hash) { return Moves(hash, index); });
    if (!copy(segment->bucket(b))) return POWERCUT_FULL;
  }
  pmem::mark("split.copied");
  WriteBackAll(fresh);
  pmem::mark("split.filled");
  for (uint32_t b = 0; b < all_buckets(); ++b) {
    Bucket* bucket = segment->bucket(b);
    for (uint32_t rest = b < options_.buckets ? 0 : moved[b]; rest != 0; rest &= rest - 1) {
      RemoveOverflow(segment, HashOf(bucket->record[std::countr_zero(rest)]), b - options_.buckets);
    }
    if (moved[b] != 0) bucket->Store(bucket->Load().Without(moved[b]));
  }
  pmem::mark("split.cleared");
  bool fits = true;
  ForEachInChain(segment, [&](Bucket* bucket) {
    const uint32_t slots = SlotsOf(bucket, [&](const Hash& hash) { return Moves(hash, index); });
    fits = copy(bucket);
    if (!fits) return true;
    for (uint32_t rest = slots; rest != 0; rest &= rest - 1) {
      RemoveOverflow(segment, HashOf(bucket->record[std::countr_zero(rest)]), kChain);
    }
    if (slots != 0) bucket->Store(bucket->Load().Without(slots));
    return false;
  });
  if (!fits) return POWERCUT_FULL;
  Compact(segment);
  WriteBackAll(segment);
  pmem::mark("split.compacted");
  StoreField(&segment->state, kNormal);
  pmem::mark("split.normal");
  StoreField(&fresh->state, kNormal);
  pmem::mark("split.done");
  return POWERCUT_OK;
}

// The authors' Insert4split and Insert4merge: only what goes to the stash or the chain is flushed.
bool Table::PlaceAsAuthors(Segment* segment, const Record& record, const Hash& hash, dash::Durability durability) {
  if (PlaceInPair(segment, record, hash, durability)) return true;
  if (options_.displacement && PlaceByDisplacement(segment, record, hash, dash::kDeferred)) return true;
  bool grown = false;
  return PlaceInStash(segment, record, hash, dash::kDurable) ||
         PlaceInChain(segment, record, hash, dash::kDurable, &grown);
}

}  // namespace powercut::dash_lh

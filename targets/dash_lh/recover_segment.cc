// Recovery of one segment, at the first operation that writes to it after a crash: reset the locks, remove
// duplicates, rebuild the overflow metadata, end a split.
#include "targets/common/planted_bugs.h"
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {

// If there is no memory for a segment of its own, the hash stays with the segment that has its records now.
powercut_status Table::Acquire(const Hash& hash, Segment** out) {
  if (options_.concurrent) return AcquireBeside(hash, out);
  uint64_t index = round().Index(hash);
  const powercut_status status = Prepare(index);
  if (status != POWERCUT_OK && (!options_.hardened || status != POWERCUT_FULL)) return status;
  while (!Counts(SegmentOf(index))) index = Origin(index);
  *out = SegmentOf(index);
  return POWERCUT_OK;
}

powercut_status Table::Prepare(uint64_t index) {
  Segment* segment = SegmentOf(index);
  powercut_status status = POWERCUT_OK;
  if (segment->state != kAbsent && !IsRecovered(segment)) status = Recover(index);
  if (status != POWERCUT_OK || segment->state != kAbsent) return status;
  status = Prepare(Origin(index));
  return status == POWERCUT_OK ? Split(index) : status;
}

powercut_status Table::Recover(uint64_t index) {
  pmem::mark("recover.segment");
  Segment* segment = SegmentOf(index);
  const bool fresh = (segment->state == kNew || segment->state == kFilled) && !Has(Bug::kSplitNotFinished);
  if (fresh && !options_.hardened) return MergeBack(index);
  if (fresh) {
    // The origin ends its split, before either of them changes.
    pmem::mark("recover.split");
    return Recover(Origin(index));
  }
  RecoverBuckets(segment);
  if (segment->state == kSplitting && options_.hardened && !Has(Bug::kSplitNotFinished)) RecoverSplit(index);
  StoreField(&segment->version, root()->version);
  return POWERCUT_OK;
}

// At most one of the segments that come from this origin is NEW or FILLED.
void Table::RecoverSplit(uint64_t index) {
  for (uint64_t distance = std::bit_ceil(index + 1); index + distance < round().count(); distance *= 2) {
    Segment* fresh = SegmentOf(index + distance);
    if (fresh->state == kNew) {
      pmem::mark("recover.split");
      StoreField(&fresh->state, kAbsent);
    } else if (fresh->state == kFilled) {
      pmem::mark("recover.split");
      RecoverBuckets(fresh);
      FinishSplit(index + distance);
      StoreField(&fresh->version, root()->version);
    }
  }
  if (SegmentOf(index)->state == kSplitting) StoreField(&SegmentOf(index)->state, kNormal);
}

void Table::RecoverBuckets(Segment* segment) {
  const bool removes = !Has(Bug::kDuplicatesKept);
  for (uint32_t b = 0; b < options_.buckets && removes; ++b) RemoveDuplicates(segment, b);
  ResetBuckets(segment, Has(Bug::kLocksKept));
  ForEachInChain(segment, [&](Bucket* bucket) {
    // The copy of a record that was moved back. The authors' code leaves it.
    for (uint32_t rest = removes && options_.hardened ? bucket->Load().allocated() : 0; rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
      const Key key = KeyOf(bucket->record[slot]);
      bool copied = false;
      ForEachIn(segment, key, HashOf(key), /*trusted=*/false, [&](const Place&) {
        copied = true;
        return true;
      });
      if (!copied) continue;
      pmem::mark("recover.chain_duplicate");
      Clear(bucket, slot, Has(Bug::kDuplicateNotFlushed) ? dash::kDeferred : dash::kDurable);
    }
    SKIP_IF (Bug::kOverflowTrusted) NoteOverflowOf(segment, bucket, kChain);
    return false;
  });
}

// The authors' recoverSegment: the records of the new segment go back, and the new segment is absent again, but keeps
// its copies. Merge flushes the records and not the bits.
powercut_status Table::MergeBack(uint64_t index) {
  pmem::mark("recover.split");
  Segment* segment = SegmentOf(Origin(index));
  Segment* fresh = SegmentOf(index);
  RecoverBuckets(fresh);
  if (!IsRecovered(segment)) {
    const powercut_status status = Recover(Origin(index));
    if (status != POWERCUT_OK) return status;
  }
  LockAll(segment);
  bool fits = true;
  ForEachBucket(fresh, [&](Bucket* bucket, uint32_t) {
    for (uint32_t rest = bucket->Load().allocated(); rest != 0 && fits; rest &= rest - 1) {
      const Record& record = bucket->record[std::countr_zero(rest)];
      const Hash hash = HashOf(record);
      if (FindHeld(segment, KeyOf(record), hash, [] { return true; }).found()) continue;
      fits = PlaceAsAuthors(segment, record, hash, dash::kRecordOnly);
    }
  });
  if (fits) {
    StoreField(&fresh->state, kAbsent);
    StoreField(&segment->state, kNormal);
    pmem::mark("recover.merged");
  }
  UnlockAll(segment);
  return fits ? POWERCUT_OK : POWERCUT_FULL;
}

}  // namespace powercut::dash_lh

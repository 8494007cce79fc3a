// Recovery of one segment, at the first operation that writes to it after a crash: reset the locks, remove
// duplicates, rebuild the overflow metadata, complete a split.
#include "targets/dash/table.h"

namespace powercut::dash {

Segment* Table::PendingSplit(Segment* segment) const {
  if (IsRecovered(segment) || Has(Bug::kSplitNotFinished)) return nullptr;
  if (segment->state != kSplitting || segment->link == 0) return nullptr;
  Segment* fresh = SegmentAt(segment->link);
  return fresh->state == kNew || fresh->state == kFilled ? fresh : nullptr;
}

powercut_status Table::Acquire(const Hash& hash, Segment** out) {
  *out = SegmentOf(hash);
  if (IsRecovered(*out)) return POWERCUT_OK;
  const SpinGuard guard(Has(Bug::kRecoveryUnlocked) ? nullptr : LockOf(&Locks::recovery));
  *out = SegmentOf(hash);
  const powercut_status status = IsRecovered(*out) ? POWERCUT_OK : Recover(*out);
  *out = SegmentOf(hash);  // a split may have been completed
  return status;
}

powercut_status Table::Recover(Segment* segment) {
  pmem::mark("recover.segment");
  if ((segment->state == kNew || segment->state == kFilled) && !Has(Bug::kSplitNotFinished)) {
    // The directory led here before the split was complete. Its left sibling completes it, before this one changes.
    const Identity identity = segment->Which();
    Segment* sibling = LeftSibling(identity);
    pmem::mark("recover.sibling");
    return Recover(sibling);
  }
  RecoverBuckets(segment);
  if (segment->state == kSplitting) {
    Segment* fresh = PendingSplit(segment);
    if (fresh != nullptr) {
      pmem::mark("recover.split");
      if (Counts(fresh)) RecoverBuckets(fresh);
      const powercut_status status = FinishSplit(segment, fresh, /*resumed=*/true);
      if (status != POWERCUT_OK) return status;
      StoreField(&fresh->version, root()->version);
    } else {
      // The new segment was not linked yet, or the split was complete but for this state.
      pmem::mark("recover.split_undone");
      if (!Has(Bug::kSplitNotFinished)) StoreField(&segment->state, kNormal);
    }
  }
  StoreField(&segment->version, root()->version);
  return POWERCUT_OK;
}

void Table::RecoverBuckets(Segment* segment) {
  if (!Has(Bug::kDuplicatesKept)) {
    for (uint32_t b = 0; b < options_.buckets; ++b) RemoveDuplicates(segment, b);
  }
  const bool rebuild = !Has(Bug::kOverflowTrusted);
  for (uint32_t b = 0; b < all_buckets(); ++b) {
    Bucket* bucket = segment->bucket(b);
    const bool keeps_lock = Has(Bug::kLocksKept) || (Has(Bug::kFreshLockKept) && segment->state == kFilled);
    if (!keeps_lock) pmem::atomic_store(&bucket->lock, 0u);
    if (rebuild) bucket->overflow = Overflow{};
    if (!options_.concurrent) segments_.Touch(OffsetOf(segment), b);
  }
  if (!rebuild) return;
  for (uint32_t stash = 0; stash < options_.stash; ++stash) {
    const Bucket* bucket = segment->bucket(options_.buckets + stash);
    for (uint32_t rest = bucket->Load().allocated(); rest != 0; rest &= rest - 1) {
      AddOverflow(segment, Hash(bucket->record[std::countr_zero(rest)].key), stash);
    }
  }
}

// A displacement leaves its copies in the home bucket and in the one after it.
void Table::RemoveDuplicates(Segment* segment, uint32_t index) {
  Bucket* bucket = segment->bucket(index);
  const Bucket* next = segment->bucket(Next(index));
  const Word word = bucket->Load();
  const Word beside = next->Load();
  for (uint32_t rest = word.allocated() & ~word.members(); rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
    for (uint32_t other = beside.allocated() & beside.members(); other != 0; other &= other - 1) {
      const auto at = static_cast<uint32_t>(std::countr_zero(other));
      if (next->fingerprint[at] != bucket->fingerprint[slot]) continue;
      if (next->record[at].key != bucket->record[slot].key) continue;
      pmem::mark("recover.duplicate");
      Clear({segment, index, slot}, Has(Bug::kDuplicateNotFlushed) ? kDeferred : kDurable);
    }
  }
}

}  // namespace powercut::dash

// Recovery of one segment, at the first operation that writes to it after a crash: reset the locks, remove
// duplicates, rebuild the overflow metadata, complete a split.
#include "targets/common/planted_bugs.h"
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
      SKIP_IF (Bug::kSplitNotFinished) StoreField(&segment->state, kNormal);
    }
  }
  StoreField(&segment->version, root()->version);
  return POWERCUT_OK;
}

void Table::RecoverBuckets(Segment* segment) {
  const uint32_t cleaned = Has(Bug::kDuplicatesKept) ? 0 : options_.buckets;
  for (uint32_t b = 0; b < cleaned; ++b) RemoveDuplicates(segment, b);
  ResetBuckets(segment, Has(Bug::kLocksKept) || (Has(Bug::kFreshLockKept) && segment->state == kFilled));
}

}  // namespace powercut::dash

// Segment split with lazy deletion, and its copy-on-write variant, CCEH(C). No log: the order of durable steps is such
// that recovery can tell a split that happened from one that did not.
#include "targets/cceh/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cceh {
namespace {

// The port of CCEH on libpmemobj has depth and pattern in two words. A split flushes the depth, then stores the pattern
// and does not flush it; recovery does not look at either.
void StorePatternLate(Segment* segment, uint64_t before, Meta next) {
  pmem::atomic_store(&segment->meta, Meta{next.depth, before}.Encode());
  pmem::persist(&segment->meta, sizeof segment->meta);
  pmem::atomic_store(&segment->meta, next.Encode());
}

}  // namespace

// With `hardened` and threads the caller has the segment alone already. It does not have it any more at return.
powercut_status Table::Split(Segment* segment, uint64_t hash) {
  powercut_status status = POWERCUT_FULL;
  if (Meta::Decode(pmem::atomic_load(&segment->meta)).depth != kMaxDepth) {
    if (!Exclusive() && !EnterToSplit(segment)) return POWERCUT_OK;
    status = options_.cow ? SplitByCopying(segment, hash) : SplitLazily(segment, hash);
    // The copied segment is gone, and its lock with it.
    if (options_.cow && status == POWERCUT_OK) return status;
  } else if (!Exclusive()) {
    return status;
  }
  LeaveExclusive(segment);
  return status;
}

void Table::ClearCovered(Segment* segment, Meta meta) const {
  for (uint64_t i = 0; i < options_.slots; ++i) {
    Slot* slot = &segment->slots()[i];
    if (!IsReserved(slot->key) && meta.Covers(HashOfWord(slot->key))) pmem::atomic_store(&slot->key, kInvalid);
  }
  pmem::persist(segment->slots(), options_.slots * sizeof(Slot));
}

// The commit is the new local depth of the old segment, which comes last: until then the old segment covers all that
// it held, and recovery gives it the upper half of its entries back.
powercut_status Table::SplitLazily(Segment* segment, uint64_t hash) {
  const Meta meta = Meta::Decode(segment->meta);
  const Meta lower{meta.depth + 1, meta.pattern << 1}, upper{meta.depth + 1, meta.pattern << 1 | 1};
  Segment* right = NewSegment(segment, upper, !Has(Bug::kSplitUnflushed));
  if (right == nullptr) {
    pmem::mark("full.segment");
    return POWERCUT_FULL;
  }
  Directory* const locked = LockDirectory();
  const uint64_t entry = EntryOf(hash);
  const bool doubles = meta.depth == Depth();
  Directory* bigger = doubles ? NewDirectory() : nullptr;
  if (doubles && bigger == nullptr) {
    UnlockDirectory(locked);
    pmem::mark("full.directory");
    Free(OffsetOf(right));
    return POWERCUT_FULL;
  }
  pmem::mark("split.copied");
  const auto set_meta = [segment](Meta next) {
    pmem::atomic_store(&segment->meta, next.Encode());
    pmem::persist(&segment->meta, sizeof segment->meta);
  };
  if (AsPorted()) {
    StorePatternLate(right, 0, upper);
    StorePatternLate(segment, meta.pattern, lower);
  }
  DO_IF (Bug::kDepthBeforeDirectory) set_meta(lower);
  DO_IF (Bug::kPatternBeforeDirectory) set_meta({meta.depth, lower.pattern});
  DO_IF (Bug::kSplitClearsFirst) ClearCovered(segment, upper);
  if (doubles) {
    Double(bigger, entry, segment, right);
  } else {
    const uint64_t count = uint64_t{1} << (Depth() - meta.depth);
    if (count > 2) pmem::mark("split.many");
    Point((entry & ~(count - 1)) + count / 2, count / 2, right);
    pmem::mark("split.redirected");
  }
  // Nobody may use the new segment before the commit: recovery would take it back.
  const bool unlocks_early = AsAuthors() || Has(Bug::kDirectoryUnlockedEarly);
  if (unlocks_early) UnlockDirectory(locked);
  DO_IF (Bug::kPatternApart) set_meta({lower.depth, meta.pattern});
  DO_IF (Bug::kSplitDepthUnflushed) pmem::atomic_store(&segment->meta, lower.Encode());
  const bool is_stored = AsPorted() || Has(Bug::kSplitDepthUnflushed) || Has(Bug::kDepthBeforeDirectory);
  if (!is_stored) set_meta(lower);
  if (!unlocks_early) UnlockDirectory(locked);
  pmem::mark("split.done");
  return POWERCUT_OK;
}

// The old segment stays as it is until nothing names it. The upper half of its entries changes durably before the
// lower half does, so recovery may judge by the leftmost entry: as long as it names the old segment the split did not
// happen; once it names the left copy, only entries of the lower half can be behind.
powercut_status Table::SplitByCopying(Segment* segment, uint64_t hash) {
  const Meta meta = Meta::Decode(segment->meta);
  Segment* left = NewSegment(segment, {meta.depth + 1, meta.pattern << 1}, /*flushed=*/true);
  Segment* right = left == nullptr
                       ? nullptr
                       : NewSegment(segment, {meta.depth + 1, meta.pattern << 1 | 1}, !Has(Bug::kSplitUnflushed));
  Directory* const locked = LockDirectory();
  const uint64_t entry = EntryOf(hash);
  const bool doubles = meta.depth == Depth();
  Directory* bigger = doubles && right != nullptr ? NewDirectory() : nullptr;
  if (right == nullptr || (doubles && bigger == nullptr)) {
    UnlockDirectory(locked);
    pmem::mark(right == nullptr ? "full.segment" : "full.directory");
    if (right != nullptr) Free(OffsetOf(right));
    if (left != nullptr) Free(OffsetOf(left));
    return POWERCUT_FULL;
  }
  pmem::mark("cow.copied");
  DO_IF (Bug::kCowFreesFirst) Free(OffsetOf(segment));
  if (doubles) {
    Double(bigger, entry, left, right);
  } else {
    const uint64_t count = uint64_t{1} << (Depth() - meta.depth), first = entry & ~(count - 1);
    if (count > 2) pmem::mark("cow.many");
    DO_IF (Bug::kCowLowerFirst) Point(first, count / 2, left);
    Point(first + count / 2, count / 2, right);
    pmem::mark("cow.upper");
    SKIP_IF (Bug::kCowLowerFirst) Point(first, count / 2, left);
  }
  UnlockDirectory(locked);
  pmem::mark("cow.redirected");
  // The authors' code never frees it. Its threads may still wait for its lock.
  if (!Has(Bug::kCowFreesFirst) && !AsAuthors()) Free(OffsetOf(segment));
  return POWERCUT_OK;
}

}  // namespace powercut::cceh

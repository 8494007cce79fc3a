// The structural invariants. The state that recovery of a segment restores is demanded of recovered segments only.
#include "targets/common/scheme_target.h"
#include "targets/dash/table.h"

namespace powercut::dash {
namespace {

unsigned long long Printable(uint64_t number) { return number; }

}  // namespace

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (region == 0) return VerifyDirectory(message, size);
  const uint64_t part = (region - 1) % regions_per_segment();
  Segment* segment = SegmentAt(segments_.offset((region - 1) / regions_per_segment()));
  if (part == 0) return VerifySegment(segment, message, size);
  return VerifyBucket(segment, static_cast<uint32_t>(part - 1), message, size);
}

powercut_status Table::VerifyDirectory(char* message, size_t size) {
  const uint32_t depth = global_depth();
  if (root()->version == 0 || root()->version > options_.versions) {
    return Broken(message, size, "the version is %llu, not 1 to %u", Printable(root()->version), options_.versions);
  }
  for (uint64_t i = 0; i >> depth == 0; ++i) {
    const uint64_t at = entries()[i];
    if (!segments_.Has(at)) {
      return Broken(message, size, "directory entry %llu leads to no segment", Printable(i));
    }
    const Identity identity = SegmentAt(at)->Which();
    if (identity.depth > depth || i >> (depth - identity.depth) != identity.pattern) {
      return Broken(message, size, "directory entry %llu leads to a segment for pattern %llu of %u bits", Printable(i),
                    Printable(identity.pattern), identity.depth);
    }
  }
  return POWERCUT_OK;
}

powercut_status Table::VerifySegment(Segment* segment, char* message, size_t size) {
  const Identity identity = segment->Which();
  const uint32_t depth = global_depth();
  if (identity.depth > depth || identity.pattern >> identity.depth != 0) {
    return Broken(message, size, "a segment has local depth %u and pattern %llu under a global depth of %u",
                  identity.depth, Printable(identity.pattern), depth);
  }
  if (segment->state > kFilled || segment->version > options_.versions) {
    return Broken(message, size, "a segment has state %llu and version %llu", Printable(segment->state),
                  Printable(segment->version));
  }
  if (segment->state == kNew || segment->state == kFilled) {
    if (IsRecovered(segment)) return Broken(message, size, "a recovered segment is NEW");
    if (identity.depth == 0 || (identity.pattern & 1) == 0) return Broken(message, size, "the first segment is NEW");
    const Segment* sibling = SegmentAt(entries()[(identity.pattern - 1) << (depth - identity.depth)]);
    if (sibling->state != kSplitting) return Broken(message, size, "a segment is NEW and its sibling not SPLITTING");
    return POWERCUT_OK;
  }
  if (segment->state == kSplitting) {
    if (IsRecovered(segment)) return Broken(message, size, "a recovered segment is SPLITTING");
    return POWERCUT_OK;
  }
  const uint32_t below = depth - identity.depth;
  for (uint64_t i = 0; i >> below == 0; ++i) {
    if (entries()[(identity.pattern << below) + i] != OffsetOf(segment)) {
      return Broken(message, size, "the directory does not lead to the segment for pattern %llu of %u bits",
                    Printable(identity.pattern), identity.depth);
    }
  }
  return POWERCUT_OK;
}

powercut_status Table::VerifyBucket(Segment* segment, uint32_t index, char* message, size_t size) {
  if (!Counts(segment)) return POWERCUT_OK;
  Bucket* bucket = segment->bucket(index);
  const Word word = bucket->Load();
  const bool stash = index >= options_.buckets;
  const bool recovered = IsRecovered(segment);
  const Identity identity = segment->Which();
  if (static_cast<uint32_t>(std::popcount(word.allocated())) != word.count() || word.count() > options_.slots ||
      (word.members() & ~word.allocated()) != 0 || (stash && word.members() != 0)) {
    return Broken(message, size, "bucket %u: count %u, allocated 0x%x, members 0x%x", index, word.count(),
                  word.allocated(), word.members());
  }
  if (recovered && (bucket->lock & Bucket::kLocked) != 0) return Broken(message, size, "bucket %u is locked", index);
  for (uint32_t rest = word.allocated(); rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
    if (!HoldsItem(bucket->record[slot])) {
      return Broken(message, size, "bucket %u: the record in slot %u names no item", index, slot);
    }
    const Hash hash = HashOf(bucket->record[slot]);
    const uint32_t home = hash.bucket(bucket_mask());
    if (!identity.Covers(hash) || (!stash && home != (word.member(slot) ? Previous(index) : index))) {
      return Broken(message, size, "bucket %u: the record in slot %u belongs elsewhere", index, slot);
    }
    if (bucket->fingerprint[slot] != hash.fingerprint()) {
      return Broken(message, size, "bucket %u: the fingerprint of slot %u is wrong", index, slot);
    }
    if (!recovered) continue;
    if (stash && (StashOf(segment, hash, true) >> (index - options_.buckets) & 1) == 0) {
      return Broken(message, size, "bucket %u: the overflow metadata does not lead to slot %u", index, slot);
    }
    uint32_t copies = 0;
    ForEachIn(segment, KeyOf(bucket->record[slot]), hash, [&](const Place&) { return ++copies == 2; });
    if (copies == 2) return Broken(message, size, "bucket %u: slot %u holds a duplicate", index, slot);
  }
  return POWERCUT_OK;
}

}  // namespace powercut::dash

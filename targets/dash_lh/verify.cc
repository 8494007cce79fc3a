// The structural invariants. The state that recovery of a segment restores is demanded of recovered segments only.
#include "targets/common/scheme_target.h"
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {
namespace {

unsigned long long Printable(uint64_t number) { return number; }

}  // namespace

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (region == 0) return VerifyRoot(message, size);
  const uint64_t index = (region - 1) / regions_per_segment();
  const uint64_t part = (region - 1) % regions_per_segment();
  if (part == 0) return VerifySegment(index, message, size);
  if (part <= all_buckets()) return VerifyBucket(index, static_cast<uint32_t>(part - 1), message, size);
  return VerifyChain(index, message, size);
}

powercut_status Table::VerifyRoot(char* message, size_t size) {
  if (root()->version == 0 || root()->version > options_.versions) {
    return Broken(message, size, "the version is %llu, not 1 to %u", Printable(root()->version), options_.versions);
  }
  const Round now = round();
  if (uint64_t{1} << now.level < options_.base || now.next >> now.level != 0 || now.next % options_.expand != 0) {
    return Broken(message, size, "N is %u and Next %u", now.level, now.next);
  }
  return POWERCUT_OK;
}

powercut_status Table::VerifySegment(uint64_t index, char* message, size_t size) {
  const Segment* segment = SegmentOf(index);
  if (segment->state > kFilled || segment->version > options_.versions) {
    return Broken(message, size, "segment %llu has state %llu and version %llu", Printable(index),
                  Printable(segment->state), Printable(segment->version));
  }
  if (index < options_.base && !IsSettled(segment)) {
    return Broken(message, size, "segment %llu is one of the first, and has state %llu", Printable(index),
                  Printable(segment->state));
  }
  const bool fresh = segment->state == kNew || segment->state == kFilled;
  if (segment->state == kFilled && IsRecovered(segment)) {
    return Broken(message, size, "segment %llu is recovered and FILLED", Printable(index));
  }
  if (fresh && !IsSettled(SegmentOf(Origin(index)))) {
    return Broken(message, size, "segment %llu splits from one that has no records", Printable(index));
  }
  if (options_.hardened && segment->state == kSplitting && IsRecovered(segment)) {
    return Broken(message, size, "segment %llu is recovered and SPLITTING", Printable(index));
  }
  return POWERCUT_OK;
}

powercut_status Table::VerifyBucket(uint64_t index, uint32_t number, char* message, size_t size) {
  Segment* segment = SegmentOf(index);
  if (!Counts(segment)) return POWERCUT_OK;
  Bucket* bucket = segment->bucket(number);
  const bool stash = number >= options_.buckets;
  const Word word = bucket->Load();
  if (IsRecovered(segment) && (bucket->lock & Bucket::kLocked) != 0) {
    return Broken(message, size, "bucket %u is locked", number);
  }
  for (uint32_t rest = stash ? 0 : word.allocated(); rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
    const uint32_t home = HashOf(bucket->record[slot]).bucket(bucket_mask());
    if (home != (word.member(slot) ? Previous(number) : number)) {
      return Broken(message, size, "bucket %u: the record in slot %u belongs into another bucket", number, slot);
    }
  }
  return VerifyRecords(index, bucket, stash ? number - options_.buckets : Spot::kInPair, message, size);
}

powercut_status Table::VerifyChain(uint64_t index, char* message, size_t size) {
  Segment* segment = SegmentOf(index);
  if (!Counts(segment)) return POWERCUT_OK;
  powercut_status status = POWERCUT_OK;
  ForEachInChain(segment, [&](Bucket* bucket) {
    bool allocated = false;
    allocator_.ForEach([&](uint64_t offset, uint64_t) { allocated = allocated || offset == OffsetOf(bucket); });
    status = allocated ? VerifyRecords(index, bucket, kChain, message, size)
                       : Broken(message, size, "segment %llu: the chain leads to a free block", Printable(index));
    return status != POWERCUT_OK;
  });
  return status;
}

powercut_status Table::VerifyRecords(uint64_t index, Bucket* bucket, uint32_t stash, char* message, size_t size) {
  Segment* segment = SegmentOf(index);
  const Word word = bucket->Load();
  if (static_cast<uint32_t>(std::popcount(word.allocated())) != word.count() || word.count() > options_.slots ||
      (word.members() & ~word.allocated()) != 0 || (stash != Spot::kInPair && word.members() != 0)) {
    return Broken(message, size, "segment %llu: count %u, allocated 0x%x, members 0x%x", Printable(index), word.count(),
                  word.allocated(), word.members());
  }
  for (uint32_t rest = word.allocated(); rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
    if (!HoldsItem(bucket->record[slot])) {
      return Broken(message, size, "segment %llu: the record in slot %u names no item", Printable(index), slot);
    }
    const Key key = KeyOf(bucket->record[slot]);
    const Hash hash = HashOf(key);
    // Its own segment may be absent, or be split from this one.
    uint64_t at = round().Index(hash);
    while (at != index && !IsSettled(SegmentOf(at))) at = Origin(at);
    if (at != index) {
      return Broken(message, size, "segment %llu: a record belongs to segment %llu", Printable(index), Printable(at));
    }
    if (bucket->fingerprint[slot] != hash.fingerprint()) {
      return Broken(message, size, "segment %llu: the fingerprint of slot %u is wrong", Printable(index), slot);
    }
    if (!IsRecovered(segment)) continue;
    if (stash != Spot::kInPair && (StashOf(segment, hash, true) >> stash & 1) == 0) {
      return Broken(message, size, "segment %llu: the overflow metadata does not lead to slot %u", Printable(index),
                    slot);
    }
    uint32_t copies = 0;
    ForEachSpot(segment, key, hash, [&](const Spot&) { return ++copies == 2; });
    if (copies == 2) {
      return Broken(message, size, "segment %llu: slot %u holds a duplicate", Printable(index), slot);
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::dash_lh

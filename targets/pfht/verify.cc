// The structural invariants that hold after every recovery.
#include "targets/common/scheme_target.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (region == 0) return VerifyRoot(message, size);
  const auto [body, index] = RegionOf(region);
  const uint64_t buckets = body->shape.buckets();
  return index < buckets ? VerifyBucket(*body, index, message, size)
                         : VerifyChain(*body, index - buckets, message, size);
}

powercut_status Table::VerifyRoot(char* message, size_t size) {
  if (root()->log_slot != 0) return Broken(message, size, "the undo log is still valid after recovery");
  const auto is_lost = [&](const Body& body) { return !IsBlock(OffsetOf(body.base), BlockBytes(body.shape.bytes)); };
  if (is_lost(body_)) {
    return Broken(message, size, "the table of 2^%u buckets lies in no block of its own", body_.shape.buckets_log2);
  }
  if (std::any_of(older_.begin(), older_.end(), is_lost)) {
    return Broken(message, size, "a table that is being emptied lies in no block of its own");
  }
  if (body_.stash_items > body_.shape.stash_capacity) {
    return Broken(message, size, "the stash holds %llu items and has room for %llu",
                  static_cast<unsigned long long>(body_.stash_items),
                  static_cast<unsigned long long>(body_.shape.stash_capacity));
  }
  return POWERCUT_OK;
}

powercut_status Table::VerifyBucket(const Body& body, uint64_t index, char* message, size_t size) {
  uint8_t* bucket = Bucket(body, index);
  const uint32_t tokens = bucket_.LoadTokens(bucket);
  if ((tokens & ~bucket_.full()) != 0) {
    return Broken(message, size, "bucket %llu: tokens 0x%x name slots beyond the last one",
                  static_cast<unsigned long long>(index), tokens);
  }
  const bool misplaced = ForEachInBucket(bucket, [&](const Place& place) {
    return BucketIndex(body, place.item, 0) != index && BucketIndex(body, place.item, 1) != index;
  });
  if (misplaced) {
    return Broken(message, size, "bucket %llu holds an item that belongs elsewhere",
                  static_cast<unsigned long long>(index));
  }
  return POWERCUT_OK;
}

powercut_status Table::VerifyChain(const Body& body, uint64_t chain, char* message, size_t size) {
  uint64_t count = 0;
  const char* broken = nullptr;
  ForEachInChain(body, chain, [&](const Place& place) {
    if (!IsBlock(*place.link, sizeof(StashNode))) {
      broken = "a node lies in no block of its own";
    } else if (ChainIndex(body, place.item) != chain) {
      broken = "an item belongs to another chain";
    } else if (++count > body.shape.stash_capacity) {
      broken = "it has more nodes than the stash has room for";
    }
    return broken != nullptr;
  });
  if (broken == nullptr) return POWERCUT_OK;
  return Broken(message, size, "chain %llu of the stash: %s", static_cast<unsigned long long>(chain), broken);
}

}  // namespace powercut::pfht

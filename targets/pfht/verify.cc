// The structural invariants that hold after every recovery.
#include "targets/common/scheme_target.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (region == 0) return VerifyRoot(message, size);
  const uint64_t buckets = body_.shape.buckets();
  return region <= buckets ? VerifyBucket(region - 1, message, size) : VerifyChain(region - 1 - buckets, message, size);
}

powercut_status Table::VerifyRoot(char* message, size_t size) {
  if (root()->log_slot != 0) return Broken(message, size, "the undo log is still valid after recovery");
  if (!IsBlock(OffsetOf(body_.base), body_.shape.bytes)) {
    return Broken(message, size, "the table of 2^%u buckets lies in no block of its own", body_.shape.buckets_log2);
  }
  if (body_.stash_items > body_.shape.stash_capacity) {
    return Broken(message, size, "the stash holds %llu items and has room for %llu",
                  static_cast<unsigned long long>(body_.stash_items),
                  static_cast<unsigned long long>(body_.shape.stash_capacity));
  }
  return POWERCUT_OK;
}

powercut_status Table::VerifyBucket(uint64_t index, char* message, size_t size) {
  uint8_t* bucket = Bucket(body_, index);
  const uint32_t tokens = bucket_.LoadTokens(bucket);
  if ((tokens & ~bucket_.full()) != 0) {
    return Broken(message, size, "bucket %llu: tokens 0x%x name slots beyond the last one",
                  static_cast<unsigned long long>(index), tokens);
  }
  const bool misplaced = ForEachInBucket(bucket, [&](const Place& place) {
    return BucketIndex(body_, place.item, 0) != index && BucketIndex(body_, place.item, 1) != index;
  });
  if (misplaced) {
    return Broken(message, size, "bucket %llu holds an item that belongs elsewhere",
                  static_cast<unsigned long long>(index));
  }
  return POWERCUT_OK;
}

powercut_status Table::VerifyChain(uint64_t chain, char* message, size_t size) {
  uint64_t count = 0;
  const char* broken = nullptr;
  ForEachInChain(body_, chain, [&](const Place& place) {
    if (!IsBlock(*place.link, sizeof(StashNode))) {
      broken = "a node lies in no block of its own";
    } else if (ChainIndex(body_, place.item) != chain) {
      broken = "an item belongs to another chain";
    } else if (++count > body_.shape.stash_capacity) {
      broken = "it has more nodes than the stash has room for";
    }
    return broken != nullptr;
  });
  if (broken == nullptr) return POWERCUT_OK;
  return Broken(message, size, "chain %llu of the stash: %s", static_cast<unsigned long long>(chain), broken);
}

}  // namespace powercut::pfht

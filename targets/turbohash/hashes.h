// The hash of a key, and the shard, the bucket and the tag that a hash names.
//
//   hash=mixed        tag: bits 0 to 7; shard: bits 8 and up; bucket: the top bits, so that bucket i of a shard becomes
//                     2i or 2i + 1 when the shard doubles (4.7)
//   hash=multiplied   bucket: bits 0 and up, so that bucket i of n becomes i or i + n; tag: bits 16 to 23; shard: bits
//                     32 and up. The authors' repository has it so (src/turbo/turbo_hash_pmem_pmdk.h at 4e273614)
#ifndef POWERCUT_TARGETS_TURBOHASH_HASHES_H_
#define POWERCUT_TARGETS_TURBOHASH_HASHES_H_

#include <cstdint>
#include <cstring>

#include "targets/common/hash.h"
#include "targets/turbohash/options.h"

namespace powercut::turbohash {

class Hashes {
 public:
  explicit Hashes(const Options& options) : multiplied_(options.multiplied), shard_mask_(options.shards() - 1) {}

  uint64_t Of(const uint8_t* key, size_t size) const {
    if (!multiplied_) return HashKey(key, size);
    // Both halves of the product of the key and a constant. Consecutive keys come to lie far apart and evenly.
    uint64_t word = 0;
    std::memcpy(&word, key, sizeof word);
    const auto product = static_cast<Product>(word) * kFactor;
    return static_cast<uint64_t>(product >> 64) + static_cast<uint64_t>(product);
  }
  uint64_t ShardOf(uint64_t hash) const { return hash >> (multiplied_ ? 32 : 8) & shard_mask_; }
  // The number of the home bucket in a shard of 2^log2 buckets.
  uint64_t BucketOf(uint64_t hash, uint64_t log2) const {
    return multiplied_ ? hash & ((uint64_t{1} << log2) - 1) : hash >> 32 >> (32 - log2);
  }
  uint8_t TagOf(uint64_t hash) const { return static_cast<uint8_t>(multiplied_ ? hash >> 16 : hash); }

 private:
  __extension__ using Product = unsigned __int128;
  static constexpr uint64_t kFactor = 0xde5fb9d2630458e9;  // as in the authors' repository

  bool multiplied_;
  uint64_t shard_mask_;
};

}  // namespace powercut::turbohash
#endif  // POWERCUT_TARGETS_TURBOHASH_HASHES_H_

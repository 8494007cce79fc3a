// Where things lie in the table's block, after targets/common/token_table.h:
//
//   buckets   2^n TokenBuckets
//   chains    heads of the stash's chains, 8 bytes each: pool offset of the first node, 0 = none
//   older     resize=rehash: the word that names the table which is being emptied
//
// A stash node is a block of its own, of one line: the offset of the next node, then the item.
#ifndef POWERCUT_TARGETS_PFHT_LAYOUT_H_
#define POWERCUT_TARGETS_PFHT_LAYOUT_H_

#include <bit>
#include <cstdint>

#include "targets/common/token_bucket.h"
#include "targets/pfht/options.h"

namespace powercut::pfht {

inline constexpr uint64_t kUnit = 64;
inline constexpr uint32_t kLogs = 32;     // a table has fewer than 2^kLogs buckets
inline constexpr uint64_t kPerChain = 4;  // mean length of a chain when the stash is full, at most

struct StashNode {
  uint64_t next;
  uint8_t item[32];
};
static_assert(sizeof(StashNode) <= kUnit);

// The sizes of a table, all from its number of buckets and the options.
struct Shape {
  Shape() = default;
  Shape(uint32_t log2, const TokenBucket& bucket, const Options& options) : buckets_log2(log2) {
    const uint64_t slots = (uint64_t{1} << log2) * bucket.slots();
    // `stash` percent of all places, so that (100 - stash) percent are the slots.
    const uint64_t rest = 100 - options.stash;
    stash_capacity = (slots * options.stash + rest - 1) / rest;
    chains = stash_capacity == 0 ? 0 : std::bit_ceil((stash_capacity + kPerChain - 1) / kPerChain);
    heads_at = uint64_t{bucket.stride()} << log2;
    bytes = heads_at + chains * sizeof(uint64_t);
  }

  uint64_t buckets() const { return uint64_t{1} << buckets_log2; }
  uint64_t regions() const { return buckets() + chains; }

  uint32_t buckets_log2 = 0;
  uint64_t stash_capacity = 0;  // items
  uint64_t chains = 0;          // a power of two, or 0
  uint64_t heads_at = 0;        // offset of the chains in the block
  uint64_t bytes = 0;
};

}  // namespace powercut::pfht
#endif  // POWERCUT_TARGETS_PFHT_LAYOUT_H_

// The persistent structures of cmap, after hash_map_base of libpmemobj-cpp. Offsets are from the start of the pool;
// 0 is none.
#ifndef POWERCUT_TARGETS_CMAP_LAYOUT_H_
#define POWERCUT_TARGETS_CMAP_LAYOUT_H_

#include <cstdint>

#include "powercut/pmem.h"

namespace powercut::cmap {

inline constexpr uint64_t kMagic = 0x31504d4b56504d43;
inline constexpr uint64_t kEmbedded = 2;      // buckets of segment 0, which lies in the root
inline constexpr uint32_t kMaxSegments = 28;  // 2^28 buckets
inline constexpr uint32_t kInlineLog = 16;    // words that a transaction may change without a block for its log

// invariant: an item lies in the chain of its bucket if that is rehashed, else in that of its nearest rehashed
// ancestor. A chain that is not empty belongs to a rehashed bucket, whatever the flag says.
struct alignas(32) Bucket {
  uint64_t rehashed;
  uint64_t head;
  uint64_t lock;  // with threads; free after open
};

// The item follows: the key, rounded up to 8 bytes, then the value's room. Each item has sizes of its own.
struct Node {
  uint64_t next;
  uint64_t lock;         // with threads; free after open
  uint32_t key_size;     // constant, as is the room
  uint32_t value_words;  // the value's room, in words
  uint64_t value_size;   // a word of its own, which a transaction can change
};

// One word that a transaction changes. `after` is not part of the undo log; it lies here until the word is logged.
struct LogEntry {
  uint64_t offset, before, after;
};

struct Root {
  alignas(pmem::kLine) uint64_t magic;
  uint64_t geometry;
  // Not read by open, which counts the segments; the planted bug bucket_count_unordered trusts it.
  uint64_t mask;
  alignas(pmem::kLine) uint64_t segment[kMaxSegments];
  alignas(pmem::kLine) uint64_t items;      // size=logged
  alignas(pmem::kLine) uint64_t log_count;  // > 0: a transaction is under way
  uint64_t log_block;                       // where the entries are; 0: below. Says nothing while the count is 0
  alignas(pmem::kLine) LogEntry log[kInlineLog];
  alignas(pmem::kLine) Bucket embedded[kEmbedded];
};

}  // namespace powercut::cmap
#endif  // POWERCUT_TARGETS_CMAP_LAYOUT_H_

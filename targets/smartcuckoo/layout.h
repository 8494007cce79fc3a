// The layout of the pool.
//
//   0      root: 4 lines (Root below)
//   256    PoolAllocator: its line, its table, its units; the directory is one block of it
//
// A directory is two tables of 2^log2 buckets, one after the other, then the buckets of the stash. A bucket is one slot
// (paper, 3.1):
//
//   value, key, token (1 byte, 1 = occupied), padding to a multiple of 8
//
// The value comes first, so that a value of up to 8 bytes lies in one aligned word. An item of 16/15 bytes fills 32
// bytes, two buckets in a line; an item of 8/8 takes 24 bytes and may straddle two lines.
#ifndef POWERCUT_TARGETS_SMARTCUCKOO_LAYOUT_H_
#define POWERCUT_TARGETS_SMARTCUCKOO_LAYOUT_H_

#include <cstdint>
#include <cstring>

#include "powercut/pmem.h"
#include "targets/common/hash.h"
#include "targets/smartcuckoo/options.h"

namespace powercut::smartcuckoo {

inline constexpr uint64_t kMagic = 0x314f4b4355434350;  // "PCCUCKO1"
inline constexpr uint64_t kUnit = 256;  // bytes; the root keeps log2 of the size in the low byte of the offset
inline constexpr unsigned kMostKey = 16, kMostValue = 64;
inline constexpr unsigned kMaxLog2 = 28;

struct Root {
  // Line 0. `magic` is stored last by format: it makes the table exist.
  uint64_t magic;
  uint64_t geometry;   // Geometry::Word(); constant
  uint64_t directory;  // Directory::Word(), published by one 8-byte store
  uint64_t unused0[5];
  // Line 1. The undo log is valid while this is non-zero: pool offset of the bucket under update.
  uint64_t log_bucket;
  uint64_t unused1[7];
  // Line 2. The value that was in the bucket.
  uint8_t log_value[kMostValue];
  uint64_t unused2[8];
};
static_assert(sizeof(Root) == 4 * pmem::kLine);

struct Geometry {
  explicit Geometry(const Options& options)
      : key_size(options.key_size),
        value_size(options.value_size),
        token_at(key_size + value_size),
        stride((token_at + 1 + 7) & ~7u),
        stash(options.stash) {}

  uint64_t Word() const { return uint64_t{key_size} | uint64_t{value_size} << 8 | uint64_t{stash} << 16; }
  const uint8_t* Key(const uint8_t* bucket) const { return bucket + value_size; }
  bool Occupied(const uint8_t* bucket) const { return pmem::atomic_load(bucket + token_at) != 0; }
  bool KeyEquals(const uint8_t* bucket, const uint8_t* key) const {
    return std::memcmp(Key(bucket), key, key_size) == 0;
  }

  uint32_t key_size, value_size;
  uint32_t token_at;  // also the bytes of an item: the value and the key stand before it
  uint32_t stride;    // bytes of a bucket
  uint32_t stash;     // buckets
};

// The two positions of a key. Buckets of the second table are numbered on after those of the first.
struct Positions {
  uint32_t first = 0, second = 0;
  uint32_t Other(uint32_t bucket) const { return bucket == first ? second : first; }
};

struct Directory {
  uint64_t offset = 0;  // of the block
  uint32_t seed = 0;    // which pair of hash functions; a rehash takes the next one
  uint32_t log2 = 0;

  static Directory FromWord(uint64_t word) {
    return {.offset = word & 0xffffffffff00,
            .seed = static_cast<uint32_t>(word >> 48),
            .log2 = static_cast<uint32_t>(word & 0xff)};
  }
  uint64_t Word() const { return offset | uint64_t{seed} << 48 | log2; }

  uint32_t buckets() const { return uint32_t{2} << log2; }
  Positions Of(const uint8_t* key, size_t size) const {
    const uint64_t mask = (uint64_t{1} << log2) - 1;
    return {.first = static_cast<uint32_t>(HashKey(key, size, 2 * seed) & mask),
            .second = static_cast<uint32_t>((HashKey(key, size, 2 * seed + 1) & mask) + mask + 1)};
  }
};

}  // namespace powercut::smartcuckoo
#endif  // POWERCUT_TARGETS_SMARTCUCKOO_LAYOUT_H_

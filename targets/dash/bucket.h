// A bucket of Dash, in both of its schemes: 256 bytes, 32 of metadata and 14 records of 16 bytes.
#ifndef POWERCUT_TARGETS_DASH_BUCKET_H_
#define POWERCUT_TARGETS_DASH_BUCKET_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "powercut/pmem.h"
#include "targets/common/bytes.h"
#include "targets/common/hash.h"

namespace powercut::dash {

inline constexpr uint32_t kSlots = 14;

// The bits of a hash. The bits above the fingerprint choose the bucket. Dash-EH's directory takes the most significant
// bits, Dash-LH the low bits of the upper half.
struct Hash {
  uint64_t bits;
  explicit Hash(uint64_t key) : bits(HashKey(reinterpret_cast<const uint8_t*>(&key), sizeof key)) {}
  explicit Hash(Bytes key) : bits(HashKey(key.data, key.size)) {}
  uint8_t fingerprint() const { return static_cast<uint8_t>(bits); }
  uint32_t bucket(uint32_t mask) const { return static_cast<uint32_t>(bits >> 8) & mask; }
  uint64_t prefix(uint32_t depth) const { return depth == 0 ? 0 : bits >> (64 - depth); }
  uint64_t suffix(uint32_t depth) const { return bits >> 32 & ((uint64_t{1} << depth) - 1); }
};

// With items=pointer `key` is the pool offset of the item, an ItemHeader and its bytes, and `value` is unused.
struct Record {
  uint64_t key, value;
};

// A key that an operation looks for.
struct Key {
  uint64_t word = 0;  // items=inline
  Bytes bytes;        // items=pointer
};

// The key and the value of a record, where they lie.
struct ItemView {
  Bytes key, value;
};

// Allocation bitmap, membership bitmap and counter, switched by one store.
struct Word {
  uint32_t bits;

  uint32_t count() const { return bits & 15; }
  uint32_t allocated() const { return bits >> 4 & 0x3fff; }
  // Records whose home is the bucket before this one.
  uint32_t members() const { return bits >> 18; }
  bool member(uint32_t slot) const { return (bits >> (18 + slot) & 1) != 0; }
  Word With(uint32_t slot, bool member) const {
    return {(bits | 1u << (4 + slot) | (member ? 1u << (18 + slot) : 0)) + 1};
  }
  Word Without(uint32_t slots) const {
    return {(bits & ~(slots << 4) & ~(slots << 18)) - static_cast<uint32_t>(std::popcount(slots))};
  }
};

// Where the records of a bucket went that lie in the stash. Not kept durable: recovery builds it again.
struct Overflow {
  uint8_t fingerprint[4];
  uint8_t used : 4;     // which of the four fingerprints mean something
  uint8_t members : 4;  // ... of which for a record whose home is the bucket before this one
  uint8_t place;        // two bits each: the stash bucket
  uint8_t count;        // records of this home bucket that found no fingerprint free
  uint8_t any;          // records of this home bucket lie in the stash
};
static_assert(sizeof(Overflow) == 8);

struct Bucket {
  static constexpr uint32_t kLocked = 1u << 31;

  uint32_t lock;  // bit 31: held; below it a version that each release raises
  uint32_t word;  // Word
  uint8_t fingerprint[kSlots];
  uint8_t unused[2];
  union {
    Overflow overflow;
    uint64_t next;  // of a bucket in Dash-LH's chain: pool offset of the one after it, 0 = none
  };
  Record record[kSlots];

  Word Load() const { return {pmem::atomic_load(&word)}; }
  void Store(Word next) { pmem::atomic_store(&word, next.bits); }
};
static_assert(sizeof(Bucket) == 256 && offsetof(Bucket, record) == 32);

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_BUCKET_H_

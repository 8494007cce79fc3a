// Where things lie in the pool.
//
//   0      root: 4 lines, two of them used (Root below)
//   256    PoolAllocator; its blocks are the directory (8 bytes an entry) and the segments
//
// A segment is a header of 256 bytes, then its normal buckets, then its stash buckets, of 256 bytes each: 32 bytes of
// metadata and 14 records of 16 bytes.
#ifndef POWERCUT_TARGETS_DASH_LAYOUT_H_
#define POWERCUT_TARGETS_DASH_LAYOUT_H_

#include <bit>
#include <cstdint>

#include "powercut/pmem.h"
#include "targets/common/hash.h"

namespace powercut::dash {

inline constexpr uint64_t kMagic = 0x3148534144434c50;  // "PLCDASH1"
inline constexpr uint64_t kUnit = 256;  // bytes; the low byte of the directory's offset holds the global depth
inline constexpr uint32_t kSlots = 14;
inline constexpr uint32_t kMaxStash = 4;
inline constexpr uint32_t kMaxDepth = 40;

struct Root {
  // Line 0. `magic` is stored last by format: it makes the table exist.
  uint64_t magic;
  uint64_t geometry;   // constant
  uint64_t directory;  // pool offset | global depth; published by one store
  uint64_t unused0[5];
  // Line 1.
  uint64_t clean;    // 1: the table was closed
  uint64_t version;  // 1 .. Options::versions; a segment with another version has not been recovered
  uint64_t unused1[6];
  uint64_t unused2[16];
};
static_assert(sizeof(Root) == 4 * pmem::kLine);

// The bits of a hash: the directory takes the most significant ones, a bucket the ones above the fingerprint.
struct Hash {
  uint64_t bits;
  explicit Hash(uint64_t key) : bits(HashKey(reinterpret_cast<const uint8_t*>(&key), sizeof key)) {}
  uint8_t fingerprint() const { return static_cast<uint8_t>(bits); }
  uint32_t bucket(uint32_t mask) const { return static_cast<uint32_t>(bits >> 8) & mask; }
  uint64_t prefix(uint32_t depth) const { return depth == 0 ? 0 : bits >> (64 - depth); }
};

struct Record {
  uint64_t key, value;
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
  Overflow overflow;
  Record record[kSlots];

  Word Load() const { return {pmem::atomic_load(&word)}; }
  void Store(Word next) { pmem::atomic_store(&word, next.bits); }
};
static_assert(sizeof(Bucket) == 256 && offsetof(Bucket, record) == 32);

// Which part of the hash space a segment holds: all hashes whose first `depth` bits are `pattern`.
struct Identity {
  uint32_t depth;
  uint64_t pattern;

  static Identity Decode(uint64_t word) { return {static_cast<uint32_t>(word & 0xff), word >> 8}; }
  uint64_t Encode() const { return depth | pattern << 8; }
  bool Covers(const Hash& hash) const { return hash.prefix(depth) == pattern; }
};

enum State : uint64_t {
  kNormal,
  kSplitting,
  kNew,     // linked by the segment before it, whose split is not complete
  kFilled,  // hardened: the same, and its records are durable
};

struct alignas(256) Segment {
  uint64_t identity;  // Identity
  uint64_t link;      // pool offset of the right neighbour, 0 = none (Dash's side link)
  uint64_t state;     // State
  uint64_t version;   // Root::version when it was last recovered

  Identity Which() const { return Identity::Decode(pmem::atomic_load(&identity)); }
  Bucket* bucket(uint32_t index) { return reinterpret_cast<Bucket*>(this + 1) + index; }
};
static_assert(sizeof(Segment) == 256);

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_LAYOUT_H_

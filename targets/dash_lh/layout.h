// Where things lie in the pool.
//
//   0      root: 10 lines (Root below), the directory among them
//   640    PoolAllocator; its blocks are the arrays of segments, and the buckets of chains (256 bytes each)
//
// A segment is a header of 256 bytes, then its normal buckets, then its stash buckets (targets/dash/bucket.h).
#ifndef POWERCUT_TARGETS_DASH_LH_LAYOUT_H_
#define POWERCUT_TARGETS_DASH_LH_LAYOUT_H_

#include <bit>
#include <cstdint>

#include "powercut/pmem.h"
#include "targets/dash/bucket.h"

namespace powercut::dash_lh {

using dash::Bucket;
using dash::Hash;
using dash::ItemView;
using dash::Key;
using dash::kSlots;
using dash::Overflow;
using dash::Record;
using dash::Word;

inline constexpr uint64_t kMagic = 0x314c484144434c50;  // "PLCDAHL1"
inline constexpr uint64_t kUnit = 256;                  // bytes
inline constexpr uint32_t kArrays = 64;                 // entries of the directory
inline constexpr uint32_t kChain = 3;                   // where overflow metadata says that a record lies in the chain
inline constexpr uint64_t kReserved = ~uint64_t{0};     // `published`: an entry whose array is being allocated

struct Root {
  // Line 0. `magic` is stored last by format: it makes the table exist.
  uint64_t magic;
  uint64_t geometry;  // constant
  uint64_t round;     // Round; changed by one store
  uint64_t unused0[5];
  // Line 1.
  uint64_t clean;    // 1: the table was closed
  uint64_t version;  // 1 .. Options::versions; a segment with another version has not been recovered
  uint64_t unused1[6];
  uint64_t array[kArrays];  // the directory: pool offset of the array, 0 = none
};
static_assert(sizeof(Root) == 10 * pmem::kLine);

// How far the table has grown: 2^level segments at the begin of the round, `next` of which have been split in it.
struct Round {
  uint32_t level, next;

  static Round Decode(uint64_t word) { return {static_cast<uint32_t>(word >> 32), static_cast<uint32_t>(word)}; }
  uint64_t Encode() const { return uint64_t{level} << 32 | next; }
  uint64_t count() const { return (uint64_t{1} << level) + next; }
  uint64_t Index(const Hash& hash) const {
    const uint64_t index = hash.suffix(level);
    return index < next ? hash.suffix(level + 1) : index;
  }
  // After `step` more segments. invariant: `step` divides 2^level.
  Round After(uint32_t step) const {
    return uint64_t{next} + step == uint64_t{1} << level ? Round{level + 1, 0} : Round{level, next + step};
  }
};

// The segment that this one is split from. Precondition: it is not one of the first.
inline uint64_t Origin(uint64_t index) { return index - std::bit_floor(index); }

enum State : uint64_t {
  kAbsent,  // the records are still in the origin; zero, as a new array is
  kNormal,
  kSplitting,
  kNew,     // its split has begun
  kFilled,  // hardened: the same, and its records are durable
};

struct alignas(256) Segment {
  uint64_t state;    // State
  uint64_t version;  // Root::version when it was last recovered
  uint64_t chain;    // pool offset of the first bucket that the stash overflowed to, 0 = none

  Bucket* bucket(uint32_t index) { return reinterpret_cast<Bucket*>(this + 1) + index; }
};
static_assert(sizeof(Segment) == 256);

}  // namespace powercut::dash_lh
#endif  // POWERCUT_TARGETS_DASH_LH_LAYOUT_H_

// Where things lie in the pool.
//
//   0      root: 4 lines, two of them used (Root below)
//   256    PoolAllocator; its blocks are the directory (8 bytes an entry) and the segments
//
// A segment is a header of 256 bytes, then its normal buckets, then its stash buckets, of 256 bytes each: 32 bytes of
// metadata and 14 records of 16 bytes.
#ifndef POWERCUT_TARGETS_DASH_LAYOUT_H_
#define POWERCUT_TARGETS_DASH_LAYOUT_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "targets/dash/bucket.h"

namespace powercut::dash {

inline constexpr uint64_t kMagic = 0x3148534144434c50;  // "PLCDASH1"
inline constexpr uint64_t kUnit = 256;  // bytes; the low byte of the directory's offset holds the global depth
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

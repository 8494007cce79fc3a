// Where things lie in the pool.
//
//   0      root: 5 lines (Root below)
//   320    concurrency=concurrent: 4 lines a thread (ThreadLines below)
//   then   Allocator: its lines, its table, its units of 64 bytes. Blocks are contexts, levels and items
//
// A level is a header line and an array of buckets; a bucket is 8 (or 4, 16) slots of 8 bytes. A slot is 0 when it is
// empty, else the 16-bit tag of a key above the 48-bit pool offset of its item's block. Blocks begin at multiples of
// 64, which leaves 6 bits for marks (SlotMark below).
#ifndef POWERCUT_TARGETS_CLEVEL_LAYOUT_H_
#define POWERCUT_TARGETS_CLEVEL_LAYOUT_H_

#include <bit>
#include <cstdint>

#include "powercut/pmem.h"
#include "targets/common/bytes.h"
#include "targets/common/hash.h"

namespace powercut::clevel {

inline constexpr uint64_t kMagic = 0x314c56454c435750;  // "PWCLEVL1"
inline constexpr int kThreads = 2;                      // the worker and the rehashing thread
inline constexpr int kMaxLevels = 32;

// concurrency=concurrent: numbers of threads. Clients come first.
inline constexpr uint32_t kClients = 4;
inline constexpr uint32_t kMostRehashers = 4;
inline constexpr uint32_t kAllThreads = kClients + kMostRehashers;
inline constexpr uint32_t kRetired = 16;  // blocks that a thread may hold back from being freed

// A thread's persistent buffer (3.3). The buffer names a thread's allocations while the table does not reach them yet,
// and (old_*) while the table may no longer reach them. A line a thread: no contention. 0 = nothing.
struct Buffer {
  uint64_t item, level, context;
  uint64_t old_item, old_level, old_context;
  uint64_t unused[2];
};

struct Root {
  // Line 0. `magic` is stored last by format: it makes the table exist.
  uint64_t magic;
  uint64_t geometry;  // GeometryWord(); constant
  uint64_t unused0[6];
  // Line 1. The global context: its offset below a 16-bit version. The block of an old context is used again, and equal
  // words must mean equal contexts.
  uint64_t context;
  uint64_t unused1[7];
  // Line 2. Buckets of the last level that were rehashed (the paper's RB_idx, plus one).
  uint64_t rehashed;
  uint64_t unused2[7];
  Buffer buffers[kThreads];
};
static_assert(sizeof(Root) == 5 * pmem::kLine);

// A thread's lines in the pool (concurrency=concurrent). Only the owning thread stores to its lines.
//
// The names of blocks here need not be cleared: recovery checks for each named block whether anything reaches the
// block, whatever its present use. No clearing saves a fence an operation.
struct ThreadLines {
  Buffer buffer;               // item, level and context
  uint64_t retired[kRetired];  // blocks that nothing reaches any more, and that others may still be reading
  // Of a rehashing thread: how many of its buckets of the last level it has rehashed. `hardened` has the level's log2
  // above 48 bits; of another level the number is 0.
  uint64_t rehashed;
  uint64_t unused[7];
};
static_assert(sizeof(ThreadLines) == 4 * pmem::kLine);

// 3.1.2. Never changed once it is published: copy-on-write.
struct Context {
  uint64_t first, last;  // offsets of levels: the one with the most buckets, and with the least
  uint64_t is_resizing;
};

struct LevelHeader {
  uint64_t up;    // offset of the level with twice the buckets; 0 = none. The level list
  uint64_t log2;  // of the number of buckets
  uint64_t unused[6];
};
static_assert(sizeof(LevelHeader) == pmem::kLine);

inline constexpr uint64_t kOffsetBits = 48;
inline constexpr uint64_t kCountMask = (uint64_t{1} << kOffsetBits) - 1;
inline constexpr uint64_t kMarkMask = 63;

// Marks of slots that `hardened` sets where there are many threads (README.md, "Threads"). A slot has at most one mark.
enum SlotMark : uint64_t {
  kTentative = 1,   // an insertion, or a movement, that is not decided yet
  kRefused = 2,     // an insertion that came too late: the key is there. Its thread empties the slot
  kEvicted = 4,     // an insertion into a bucket that is being rehashed. Its thread empties the slot, and tries again
  kErased = 8,      // the item is gone. Its thread empties the slot
  kForwarded = 16,  // the item is in a higher slot too, and that one counts
};
inline constexpr uint64_t kAbsentMarks = kTentative | kRefused | kEvicted | kErased;

// The hashes of a key, which give two candidate buckets in each level, and the tag (3.2.1: two leading bytes of a
// hash).
struct Probe {
  explicit Probe(Bytes key) : hash{HashKey(key.data, key.size, 0), HashKey(key.data, key.size, 1)} {}
  uint64_t tag() const { return hash[0] >> kOffsetBits; }
  uint64_t SlotFor(uint64_t offset) const { return tag() << kOffsetBits | offset; }

  uint64_t hash[2];
};

// One level as a thread sees it.
struct Level {
  uint64_t offset = 0;
  LevelHeader* header = nullptr;
  uint64_t* slots = nullptr;
  uint64_t mask = 0;  // buckets - 1

  uint64_t buckets() const { return mask + 1; }
  uint64_t log2() const { return static_cast<uint64_t>(std::popcount(mask)); }
};

// A thread's copy of the global context pointer (Fig. 2b), with what the context says.
struct View {
  uint64_t context = 0;
  Level levels[kMaxLevels];  // levels[0] is the last level: search goes from the bottom to the top
  int count = 0;
  bool is_resizing = false;
  bool is_durable = false;  // the pointer, as far as this thread knows

  const Level& last() const { return levels[0]; }
  const Level& first() const { return levels[count - 1]; }
  // Does the slot belong to one of these levels?
  bool Holds(const uint64_t* slot, uint32_t slots) const {
    for (int i = 0; i < count; ++i) {
      if (slot >= levels[i].slots && slot < levels[i].slots + levels[i].buckets() * slots) return true;
    }
    return false;
  }
};

struct Thread {
  uint32_t id = 0;
  View view;
  // With many threads: the number of blocks that the thread holds back (ThreadLines::retired). `seen` notes which other
  // threads were at work when the first `waiting` of the blocks had become unreachable (Epochs::Snapshot).
  uint32_t retired = 0, waiting = 0;
  uint64_t seen[kAllThreads] = {};
  bool freed_twice = false;  // the allocator has found damage
};

// A slot, and what was read there.
struct Place {
  uint64_t* slot = nullptr;
  uint64_t word = 0;
  int level = 0;  // index in View::levels
  uint64_t bucket = 0;

  bool found() const { return slot != nullptr; }
};

}  // namespace powercut::clevel
#endif  // POWERCUT_TARGETS_CLEVEL_LAYOUT_H_

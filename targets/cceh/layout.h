// Where things lie in the pool. Three levels: directory, segments, buckets of one cache line.
//
//   0      root: 2 lines (Root below)
//   128    items=transaction: the undo log, a line
//   128    PoolAllocator, behind the log: its line, its table, its units; each segment, each directory and each item
//   out
//          of the slots is one block of it
#ifndef POWERCUT_TARGETS_CCEH_LAYOUT_H_
#define POWERCUT_TARGETS_CCEH_LAYOUT_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "targets/common/bytes.h"
#include "targets/common/hash.h"

namespace powercut::cceh {

inline constexpr uint64_t kMagic = 0x3148454343504350;
inline constexpr uint64_t kUnit = 64;
inline constexpr uint32_t kMaxDepth = 40;
inline constexpr uint32_t kSlotsPerLine = 4;

// The two keys that mark a slot. Items with such a key lie in the root.
inline constexpr uint64_t kInvalid = ~uint64_t{0};       // the slot is free
inline constexpr uint64_t kSentinel = ~uint64_t{0} - 1;  // an insert has claimed the slot

// 16 bytes on a 16-byte boundary, so that both words lie in one line and reach memory in the order of the stores.
// With items=pointer and items=transaction, `key` is the hash of the key, and `value` the pool offset of the item.
struct Slot {
  uint64_t key;  // the commit: the item exists from the store of its key on
  uint64_t value;
};

// The slot that the transaction under way changes, with its contents before.
struct UndoLog {
  uint64_t slot;  // pool offset, stored last; 0: there is no transaction
  Slot before;
  uint64_t unused[5];
};
static_assert(sizeof(UndoLog) == pmem::kLine);

// An item whose key is kInvalid or kSentinel.
struct ReservedItem {
  uint64_t value;
  uint64_t present;  // the commit
};

struct Root {
  // Line 0. `magic` is stored last by format: it makes the table exist.
  uint64_t directory;  // pool offset; one store replaces the directory
  uint64_t slots;      // of a segment; constant
  uint64_t magic;
  uint64_t unused0[5];
  // Line 1.
  ReservedItem reserved[2];  // kInvalid, kSentinel
  uint64_t unused1[4];
};
static_assert(sizeof(Root) == 2 * pmem::kLine);

// The directory object: a line, then `capacity` pool offsets of segments.
struct Directory {
  uint64_t depth;     // the global depth
  uint64_t capacity;  // 2^depth; the public code keeps both
  uint64_t lock;      // of `published` with threads; nobody flushes it, but its line may be evicted
  uint64_t unused[5];

  uint64_t* entries() { return reinterpret_cast<uint64_t*>(this + 1); }
  const uint64_t* entries() const { return reinterpret_cast<const uint64_t*>(this + 1); }
  static uint64_t Bytes(uint64_t capacity) { return sizeof(Directory) + capacity * sizeof(uint64_t); }
};
static_assert(sizeof(Directory) == pmem::kLine);

// A segment's description: its local depth, and the pattern, a prefix of `depth` bits that the hashes of its keys
// share. Both lie in one word, since a depth without its pattern would make every key of the segment invalid.
struct Meta {
  uint32_t depth;
  uint64_t pattern;

  static Meta Decode(uint64_t word) { return {static_cast<uint32_t>(word & 0xff), word >> 8}; }
  uint64_t Encode() const { return depth | pattern << 8; }
  bool Covers(uint64_t hash) const { return depth == 0 || hash >> (64 - depth) == pattern; }
};

// A line, then the slots.
struct Segment {
  uint64_t meta;  // Meta::Encode()
  int64_t lock;   // > 0: how many share it; -1: who has it alone. Nobody flushes it, but its line may be evicted
  uint64_t unused[6];

  Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
  const Slot* slots() const { return reinterpret_cast<const Slot*>(this + 1); }
  static uint64_t Bytes(uint64_t slots) { return sizeof(Segment) + slots * sizeof(Slot); }
};
static_assert(sizeof(Segment) == pmem::kLine);

inline uint64_t HashOf(uint64_t key) { return HashKey(reinterpret_cast<const uint8_t*>(&key), sizeof key); }
// The hash of a key out of its slot. The slot holds the hash, which never looks like a mark.
inline uint64_t HashOf(Bytes key) {
  const uint64_t hash = HashKey(key.data, key.size);
  return hash < kSentinel ? hash : hash - 2;
}

}  // namespace powercut::cceh
#endif  // POWERCUT_TARGETS_CCEH_LAYOUT_H_

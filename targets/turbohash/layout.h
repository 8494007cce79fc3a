// Where things lie in the pool.
//
//   0        root: 4 lines (Root below)
//   256      allocator=threads only: the logs of the other lanes
//   ...      the shard directory: one Descriptor a shard (the paper's Fig. 3)
//   ...      PoolAllocator: its line, its table, its units; each shard is one block of it
//   split    pointer mode only: ItemHeap, cells of sizes, key and value
//
// A shard is an array of 2^n buckets of 256 bytes, the access unit of the medium.
#ifndef POWERCUT_TARGETS_TURBOHASH_LAYOUT_H_
#define POWERCUT_TARGETS_TURBOHASH_LAYOUT_H_

#include <bit>
#include <cstdint>

#include "powercut/pmem.h"

namespace powercut::turbohash {

inline constexpr uint64_t kMagic = 0x314f425255544350;  // "PCTURBO1"
inline constexpr uint32_t kSlots = 14;
inline constexpr uint32_t kAllSlots = (1u << kSlots) - 1;
// The last empty slot takes no new item: it is the reserve of near-place updates (3.3).
inline constexpr int kMostItems = kSlots - 1;

// The 8 bytes whose atomic store commits every operation (3.3, 3.4).
struct Meta {
  uint16_t valid = 0;    // the slot was filled; only a slot whose bit is 0 is empty
  uint16_t deleted = 0;  // the item is gone, yet the slot is no empty one. invariant: a subset of `valid`
  uint32_t sequence = 0;

  static Meta Decode(uint64_t word) { return std::bit_cast<Meta>(word); }
  uint64_t Encode() const { return std::bit_cast<uint64_t>(*this); }
  uint32_t live() const { return valid & ~uint32_t{deleted}; }
  // Does a search end here? At least two slots are empty (Algorithm 4, ReachSearchEnd).
  bool ends_path() const { return std::popcount(valid) < kMostItems; }
  uint32_t first_empty() const { return static_cast<uint32_t>(std::countr_one(valid)); }
  uint32_t first_deleted() const { return static_cast<uint32_t>(std::countr_zero(deleted)); }
};
static_assert(sizeof(Meta) == 8);

struct Slot {
  uint64_t key;    // inline: the key; pointer mode: its 64-bit hash
  uint64_t value;  // inline: the value; pointer mode: pool offset of the item's cell
};

struct Bucket {
  uint64_t meta;
  uint8_t tags[16];  // of slots 0..13; the last two bytes are not used
  uint64_t unused;
  Slot slots[kSlots];  // none straddles two lines
};
static_assert(sizeof(Bucket) == 256);

// A shard as the directory names it. The low bit of `version` says which set is in use; the other one means
// nothing, and is written only while it means nothing.
struct Descriptor {
  uint64_t block[2];    // pool offset of the buckets
  uint32_t buckets[2];  // their number
  uint8_t version;
  uint8_t unused[7];
};
static_assert(sizeof(Descriptor) == 32 && pmem::kLine % sizeof(Descriptor) == 0);

// Pointer mode: which cells the operation under way takes and gives back (items.cc). Valid while `slot` is not 0.
struct ItemLog {
  uint64_t slot;   // pool offset of the slot that the operation changes
  uint64_t fresh;  // the cell that it fills, or 0
  uint64_t stale;  // the cell that it frees once it is committed, or 0
  uint64_t undo;   // transactions=on: how many words of the undo log count. `slot` is 0 then
  uint64_t unused[4];
};
static_assert(sizeof(ItemLog) == pmem::kLine);

// A word of the pool as it was before a transaction (transaction.cc).
struct UndoEntry {
  uint64_t offset, before;
};
inline constexpr uint32_t kMostUndo = 4;

// The log of one writer at a time: two lines.
struct LaneLog {
  ItemLog items;
  UndoEntry undo[kMostUndo];
};
static_assert(sizeof(LaneLog) == 2 * pmem::kLine);
inline constexpr uint32_t kLanes = 4;  // with allocator=threads; else there is one

struct Root {
  // Line 0. `magic` is stored last by format: it makes the table exist.
  uint64_t magic;
  uint64_t geometry;  // Options::Geometry(); constant
  uint64_t unused0[6];
  LaneLog lane;         // lines 1 and 2
  uint64_t unused1[8];  // line 3
};
static_assert(sizeof(Root) == 4 * pmem::kLine);

}  // namespace powercut::turbohash
#endif  // POWERCUT_TARGETS_TURBOHASH_LAYOUT_H_

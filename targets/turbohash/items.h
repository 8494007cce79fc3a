// Pointer mode (3.6): cells for items outside the buckets, and the log that keeps them from leaking.
//
// Layout: a 2-byte entry for each unit of 64 bytes, then the units. Entry n > 0: a cell of n units begins here; 0: none
// begins here. A bit beside n says that the cell lies in a garbage pool (garbage.cc). One store takes a cell or frees
// it, whatever its length. With allocator=threads another bit says that a chunk of cells begins here (chunks.cc). A
// cell holds the sizes of key and value (ItemHeader), the key, the value. The paper leaves allocation to PMDK's
// pmemobj_alloc and pmemobj_free, "guaranteed to be entirely completed or discarded on recovery". The guarantee costs
// the ItemLog in the root (layout.h); recovery reads the log and not the items.
#ifndef POWERCUT_TARGETS_TURBOHASH_ITEMS_H_
#define POWERCUT_TARGETS_TURBOHASH_ITEMS_H_

#include <cstdint>
#include <cstring>
#include <memory>

#include "powercut/pmem.h"
#include "powercut/target.h"

namespace powercut::turbohash {

class ItemHeap {
 public:
  static constexpr uint64_t kUnit = pmem::kLine;

  ItemHeap() = default;
  // Cells in [begin, end of pool). Precondition: `begin` is a multiple of 64, the pool is zeroed.
  ItemHeap(powercut_pool pool, uint64_t begin);

  // Bytes of the cell for an item of `bytes`.
  static uint64_t CellSize(uint64_t bytes) { return UnitsOf(bytes) * kUnit; }

  // ---- chunks (chunks.cc). Precondition of those that are not const: the caller has the heap's lock ----

  static constexpr uint64_t kChunkUnits = 16;
  static constexpr uint64_t kMostInChunk = (kChunkUnits - 1) * kUnit;  // bytes of a cell

  // From now on there may be chunks. False: no memory.
  bool UseChunks();
  // As Pick, in this chunk. Precondition: its owner asks.
  uint64_t PickIn(uint64_t chunk, uint64_t bytes) const;
  // A chunk that is the lane's or nobody's, and from now on the lane's; or 0.
  uint64_t ChunkWithRoom(uint8_t lane, uint64_t bytes);
  // Free units for a chunk, or 0. Nothing is written yet.
  uint64_t PickChunk() { return PickUnits(kChunkUnits, kChunkUnits); }
  void ClearHeader(uint64_t chunk);
  void TakeChunk(uint64_t chunk, uint8_t lane);
  // Part of recovery. False when a header is damaged.
  bool FreeEmptyChunks();
  bool IsChunk(uint64_t offset) const {
    return owner_ != nullptr && UnitAt(offset) % kChunkUnits == 0 && IsChunkAt(UnitAt(offset));
  }
  bool IsInChunk(uint64_t cell) const { return EntryOf(cell) != &entries_[UnitAt(cell)]; }
  bool IsEmpty(uint64_t chunk) const;
  bool HasOwner(uint64_t chunk) const { return owner_[UnitAt(chunk) / kChunkUnits] != 0; }

  // ---- cells ----

  // The pool offset of free units for an item of `bytes`, or 0. Nothing is written yet.
  uint64_t Pick(uint64_t bytes) { return PickUnits(UnitsOf(bytes), 1); }
  // Sets or clears the cell's entry and starts its write-back; durable after the next fence.
  void Take(uint64_t cell, uint64_t bytes);
  void Release(uint64_t cell);
  // Marks a cell that nothing names any more: it stays allocated, and FreeGarbage() would release it.
  void MarkGarbage(uint64_t cell) { Store(EntryOf(cell), *EntryOf(cell) | kGarbage); }
  // Part of recovery. False when an entry is damaged.
  bool FreeGarbage();
  // Bytes of the allocated cell that begins at this offset; 0 if none does, or if the cell is garbage.
  uint64_t BytesOf(uint64_t cell) const {
    const uint64_t entry = *EntryOf(cell);
    return (entry & (kGarbage | kChunk)) != 0 ? 0 : entry * kUnit;
  }
  bool IsTaken(uint64_t cell) const { return BytesOf(cell) != 0; }
  // Is this the offset of a unit?
  bool Names(uint64_t cell) const {
    return cell >= first_ && (cell - first_) % kUnit == 0 && (cell - first_) / kUnit < units_;
  }

  // visit(offset, bytes) for every allocated cell, and every header of a chunk. False when an entry is damaged.
  template <typename Visit>
  bool ForEach(Visit visit) const {
    for (uint64_t at = 0; at < units_;) {
      uint64_t four = 0;
      if (at % 4 == 0) std::memcpy(&four, &entries_[at], sizeof four);
      if (at % 4 == 0 && four == 0) {
        at += 4;
        continue;
      }
      const uint64_t length = LengthIn(entries_[at]);
      if (length > units_ - at) return false;
      if (owner_ != nullptr && IsChunkAt(at)) {
        if (!ForEachIn(at, visit)) return false;
      } else if (length != 0) {
        visit(OffsetOf(at), length * kUnit);
      }
      at += length == 0 ? 1 : length;
    }
    return true;
  }

 private:
  static constexpr uint16_t kGarbage = 0x8000, kChunk = 0x4000;

  static uint64_t LengthIn(uint16_t entry) { return entry & ~(kGarbage | kChunk); }
  static uint64_t UnitsOf(uint64_t bytes) { return (bytes + kUnit - 1) / kUnit; }
  uint64_t UnitAt(uint64_t cell) const { return (cell - first_) / kUnit; }
  uint64_t OffsetOf(uint64_t unit) const { return first_ + unit * kUnit; }
  // Free units from a multiple of `alignment` on: first fit.
  uint64_t PickUnits(uint64_t need, uint64_t alignment);
  // Stores an entry and starts its write-back.
  static void Store(uint16_t* entry, uint64_t value);
  // The entries in the header of the chunk that begins at this unit.
  uint16_t* HeaderOf(uint64_t unit) const { return reinterpret_cast<uint16_t*>(base_ + OffsetOf(unit)); }
  bool IsChunkAt(uint64_t unit) const { return (pmem::atomic_load(&entries_[unit]) & kChunk) != 0; }
  uint16_t* EntryOf(uint64_t cell) const {
    const uint64_t at = UnitAt(cell), inside = at % kChunkUnits;
    const bool in_chunk = owner_ != nullptr && inside != 0 && IsChunkAt(at - inside);
    return in_chunk ? HeaderOf(at - inside) + inside : &entries_[at];
  }
  template <typename Visit>
  bool ForEachIn(uint64_t unit, Visit visit) const {
    visit(OffsetOf(unit), kUnit);
    for (uint64_t at = 1; at < kChunkUnits;) {
      const uint64_t length = LengthIn(HeaderOf(unit)[at]);
      if (length > kChunkUnits - at) return false;
      if (length != 0) visit(OffsetOf(unit + at), length * kUnit);
      at += length == 0 ? 1 : length;
    }
    return true;
  }

  uint8_t* base_ = nullptr;      // of the pool
  uint16_t* entries_ = nullptr;  // rounded up to whole lines
  uint64_t first_ = 0;           // pool offset of unit 0
  uint64_t units_ = 0;
  uint64_t hint_ = 0;                 // volatile: no unit below it is free
  std::unique_ptr<uint8_t[]> owner_;  // of each possible chunk: the number of a lane + 1, or 0; null: no chunks
};

}  // namespace powercut::turbohash
#endif  // POWERCUT_TARGETS_TURBOHASH_ITEMS_H_

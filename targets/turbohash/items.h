// Pointer mode (3.6): cells for items outside the buckets, and the log that keeps them from leaking.
//
// Layout: a 2-byte entry for each unit of 64 bytes, then the units. Entry n > 0: a cell of n units begins here; 0: none
// begins here. A bit beside n says that the cell lies in a garbage pool (garbage.cc). One store takes a cell or frees
// it, whatever its length. A cell holds the sizes of key and value (ItemHeader), the key, the value. The paper leaves
// allocation to PMDK's pmemobj_alloc and pmemobj_free, "guaranteed to be entirely completed or discarded on recovery".
// The guarantee costs the ItemLog in the root (layout.h); recovery reads the log and not the items.
#ifndef POWERCUT_TARGETS_TURBOHASH_ITEMS_H_
#define POWERCUT_TARGETS_TURBOHASH_ITEMS_H_

#include <cstdint>
#include <cstring>

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

  // The pool offset of free units for an item of `bytes`, or 0. Nothing is written yet.
  uint64_t Pick(uint64_t bytes);
  // Sets or clears the cell's entry and starts its write-back; durable after the next fence.
  void Take(uint64_t cell, uint64_t bytes);
  void Release(uint64_t cell);
  // Marks a cell that nothing names any more: it stays allocated, and FreeGarbage() would release it.
  void MarkGarbage(uint64_t cell) { SetEntry(cell, entries_[UnitAt(cell)] | kGarbage); }
  // Part of recovery. False when an entry is damaged.
  bool FreeGarbage();
  // Bytes of the allocated cell that begins at this offset; 0 if none does, or if the cell is garbage.
  uint64_t BytesOf(uint64_t cell) const {
    const uint64_t entry = entries_[UnitAt(cell)];
    return (entry & kGarbage) != 0 ? 0 : entry * kUnit;
  }
  bool IsTaken(uint64_t cell) const { return BytesOf(cell) != 0; }
  // Is this the offset of a unit?
  bool Names(uint64_t cell) const {
    return cell >= first_ && (cell - first_) % kUnit == 0 && (cell - first_) / kUnit < units_;
  }

  // visit(offset, bytes) for every allocated cell. False when an entry is damaged.
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
      if (length != 0) visit(first_ + at * kUnit, length * kUnit);
      at += length == 0 ? 1 : length;
    }
    return true;
  }

 private:
  static constexpr uint16_t kGarbage = 0x8000;

  static uint64_t LengthIn(uint16_t entry) { return entry & ~kGarbage; }
  static uint64_t UnitsOf(uint64_t bytes) { return (bytes + kUnit - 1) / kUnit; }
  uint64_t UnitAt(uint64_t cell) const { return (cell - first_) / kUnit; }
  void SetEntry(uint64_t cell, uint64_t units);

  uint16_t* entries_ = nullptr;  // rounded up to whole lines
  uint64_t first_ = 0;           // pool offset of unit 0
  uint64_t units_ = 0;
  uint64_t hint_ = 0;  // volatile: no unit below it is free
};

}  // namespace powercut::turbohash
#endif  // POWERCUT_TARGETS_TURBOHASH_ITEMS_H_

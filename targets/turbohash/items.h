// Pointer mode (3.6): cells for keys and values outside the buckets, and the log that keeps them from leaking.
//
// Layout: one bit a cell (1: allocated), then the cells, all of one size. The paper leaves allocation to PMDK's
// pmemobj_alloc and pmemobj_free, "guaranteed to be entirely completed or discarded on recovery". The guarantee costs
// the ItemLog in the root (layout.h); recovery reads the log and not the items.
#ifndef POWERCUT_TARGETS_TURBOHASH_ITEMS_H_
#define POWERCUT_TARGETS_TURBOHASH_ITEMS_H_

#include <cstdint>
#include <cstring>

#include "powercut/pmem.h"
#include "powercut/target.h"

namespace powercut::turbohash {

class ItemHeap {
 public:
  ItemHeap() = default;
  // Cells of `bytes` in [begin, end of pool). Precondition: `begin` is a multiple of 64, the pool is zeroed.
  ItemHeap(powercut_pool pool, uint64_t begin, uint64_t bytes);

  // Bytes of a cell for items of `bytes`: small ones never straddle a line.
  static uint64_t CellSize(uint64_t bytes);

  // The pool offset of a free cell, or 0. Nothing is written yet.
  uint64_t Pick();
  // Sets or clears the cell's bit and starts its write-back; durable after the next fence.
  void Take(uint64_t cell) { SetBit(cell, true); }
  void Release(uint64_t cell) { SetBit(cell, false); }
  bool IsTaken(uint64_t cell) const;
  // Is this the offset of a cell?
  bool Names(uint64_t cell) const {
    return cell >= first_ && (cell - first_) % size_ == 0 && (cell - first_) / size_ < cells_;
  }

  // visit(offset, bytes) for every allocated cell.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (uint64_t word = 0; word * 64 < cells_; ++word) {
      for (uint64_t rest = bits_[word]; rest != 0; rest &= rest - 1) {
        visit(first_ + (word * 64 + static_cast<uint64_t>(__builtin_ctzll(rest))) * size_, size_);
      }
    }
  }

 private:
  void SetBit(uint64_t cell, bool taken);

  uint64_t* bits_ = nullptr;
  uint64_t first_ = 0;  // pool offset of cell 0
  uint64_t size_ = 1;
  uint64_t cells_ = 0;
  uint64_t hint_ = 0;  // volatile: no cell in a word below it is free
};

}  // namespace powercut::turbohash
#endif  // POWERCUT_TARGETS_TURBOHASH_ITEMS_H_

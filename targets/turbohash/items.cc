// Cells of pointer mode, and how an operation takes and frees them without a leak.
//
//   1. log        slot, fresh cell, stale cell                      durable: from here on a cut is repaired
//   2. take       fresh cell: item, its bit; the slot: hash, pointer, tag     durable
//   3. commit     the bucket's meta word                            durable
//   4. release    stale cell: its bit                               durable
//
// Recovery looks whether the slot of the log was committed, and frees the stale cell or the fresh one. The log is not
// cleared at the end: its entry stays true until the next operation overwrites the log. Three words of one line are
// written in the order invalid, cells, slot; stores to one line persist in that order.
#include "targets/turbohash/items.h"

#include "targets/common/planted_bugs.h"
#include "targets/turbohash/table.h"

// Defined by the engine alone: whether this allocation is to fail though there is room (powercut faults).
extern "C" int powercut_refuse_allocation(uint64_t bytes) __attribute__((weak));

namespace powercut::turbohash {

ItemHeap::ItemHeap(powercut_pool pool, uint64_t begin, uint64_t bytes)
    : bits_(reinterpret_cast<uint64_t*>(pool.base + begin)), size_(CellSize(bytes)) {
  // Each cell costs its bytes and a bit; the bits round up to a line, a cell may be lost to alignment.
  const uint64_t room = pool.size - begin;
  if (room > 2 * pmem::kLine) cells_ = (room - 2 * pmem::kLine) * 8 / (size_ * 8 + 1);
  first_ = (begin + (cells_ + 63) / 64 * sizeof(uint64_t) + pmem::kLine - 1) & ~(pmem::kLine - 1);
}

uint64_t ItemHeap::CellSize(uint64_t bytes) {
  if (bytes > pmem::kLine) return (bytes + pmem::kLine - 1) & ~(pmem::kLine - 1);
  return std::bit_ceil(bytes < 16 ? uint64_t{16} : bytes);
}

uint64_t ItemHeap::Pick() {
  if (powercut_refuse_allocation != nullptr && powercut_refuse_allocation(size_) != 0) return 0;
  for (; hint_ * 64 < cells_; ++hint_) {
    const uint64_t cell = hint_ * 64 + static_cast<uint64_t>(std::countr_one(bits_[hint_]));
    if (cell < hint_ * 64 + 64 && cell < cells_) return first_ + cell * size_;
  }
  return 0;
}

bool ItemHeap::IsTaken(uint64_t cell) const {
  const uint64_t at = (cell - first_) / size_;
  return (bits_[at / 64] >> (at % 64) & 1) != 0;
}

void ItemHeap::SetBit(uint64_t cell, bool taken) {
  const uint64_t at = (cell - first_) / size_;
  const uint64_t bit = uint64_t{1} << (at % 64);
  pmem::atomic_store(&bits_[at / 64], taken ? bits_[at / 64] | bit : bits_[at / 64] & ~bit);
  pmem::flush_line(&bits_[at / 64]);
  if (!taken && at / 64 < hint_) hint_ = at / 64;
}

void Table::LogItems(const Slot* slot, uint64_t fresh, uint64_t stale) {
  ItemLog* log = &root()->log;
  // Without this store the old slot would be judged with the new cells.
  SKIP_IF (Bug::kItemLogOneWrite) pmem::atomic_store(&log->slot, uint64_t{0});
  pmem::atomic_store(&log->fresh, fresh);
  // `published`: pmemobj_alloc covers the new cell up to the pointer; the old one waits in a volatile garbage pool.
  pmem::atomic_store(&log->stale, options_.hardened ? stale : uint64_t{0});
  pmem::atomic_store(&log->slot, OffsetOf(slot));
  pmem::persist(log, sizeof *log);
}

void Table::ClearItemLog() {
  if (!options_.pointer || root()->log.slot == 0) return;
  pmem::atomic_store(&root()->log.slot, uint64_t{0});
  pmem::persist(&root()->log, sizeof(ItemLog));
}

bool Table::ReplayItemLog() {
  const ItemLog& log = root()->log;
  const uint64_t at = log.slot;
  if (at == 0) return true;
  const uint64_t base = at & ~(sizeof(Bucket) - 1);
  const uint64_t fresh = log.fresh, stale = log.stale;
  if (at >= item_begin_ || at - base < offsetof(Bucket, slots) || at % sizeof(Slot) != 0 ||
      (fresh != 0 && !items_.Names(fresh)) || (stale != 0 && !items_.Names(stale))) {
    return false;
  }
  const auto* bucket = reinterpret_cast<const Bucket*>(pool_.base + base);
  const uint64_t index = (at - base - offsetof(Bucket, slots)) / sizeof(Slot);
  const Meta meta = Meta::Decode(pmem::atomic_load(&bucket->meta));
  const bool points = fresh != 0 && bucket->slots[index].value == fresh;
  bool committed = points;  // `published`: the pointer is in its place, which is all that PMDK promises
  if (options_.hardened)
    committed = fresh != 0 ? points && (meta.live() >> index & 1) != 0 : (meta.deleted >> index & 1) != 0;
  const uint64_t surplus = committed ? stale : fresh;
  if (surplus != 0 && items_.IsTaken(surplus)) {
    pmem::mark(committed ? "recover.stale_item" : "recover.fresh_item");
    items_.Release(surplus);
    pmem::fence();
  }
  return true;
}

}  // namespace powercut::turbohash

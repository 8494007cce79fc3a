// Cells of pointer mode, and how an operation takes and frees them without a leak.
//
//   1. log        slot, fresh cell, stale cell                      durable: from here on a cut is repaired
//   2. take       fresh cell: item, its entry; the slot: hash, pointer, tag   durable
//   3. commit     the bucket's meta word                            durable
//   4. release    stale cell: its entry                             durable
//
// Recovery looks whether the slot of the log was committed, and frees the stale cell or the fresh one. Three words of
// one line are written in the order invalid, cells, slot; stores to one line persist in that order.
#include "targets/turbohash/items.h"

#include "targets/common/planted_bugs.h"
#include "targets/turbohash/table.h"

// Defined by the engine alone: whether this allocation is to fail though there is room (powercut faults).
extern "C" int powercut_refuse_allocation(uint64_t bytes) __attribute__((weak));

namespace powercut::turbohash {

ItemHeap::ItemHeap(powercut_pool pool, uint64_t begin)
    : base_(pool.base), entries_(reinterpret_cast<uint16_t*>(pool.base + begin)) {
  // Each unit costs its bytes and an entry; the entries round up to a line.
  const uint64_t room = pool.size - begin;
  if (room > 2 * pmem::kLine) units_ = (room - 2 * pmem::kLine) / (kUnit + sizeof *entries_);
  first_ = (begin + units_ * sizeof *entries_ + pmem::kLine - 1) & ~(pmem::kLine - 1);
}

uint64_t ItemHeap::PickUnits(uint64_t need, uint64_t alignment) {
  uint64_t run = hint_;  // where the current run of free units began
  uint64_t first = units_;
  uint64_t at = hint_;
  const auto begin = [&] { return (run + alignment - 1) / alignment * alignment; };
  while (at < units_ && at < begin() + need) {
    const uint64_t length = LengthIn(entries_[at]);
    if (length == 0 && first == units_) first = at;
    at += length == 0 ? 1 : length;
    if (length != 0) run = at;
  }
  hint_ = first;
  return begin() + need <= units_ ? OffsetOf(begin()) : 0;
}

void ItemHeap::Take(uint64_t cell, uint64_t bytes) { Store(EntryOf(cell), UnitsOf(bytes)); }

void ItemHeap::Release(uint64_t cell) {
  Store(EntryOf(cell), 0);
  if (!IsInChunk(cell)) hint_ = std::min(hint_, UnitAt(cell));
}

bool ItemHeap::FreeGarbage() {
  bool freed = false;
  const bool sound = ForEach([&](uint64_t cell, uint64_t) {
    if (IsChunk(cell) || (*EntryOf(cell) & kGarbage) == 0) return;
    pmem::mark("recover.garbage");
    Release(cell);
    freed = true;
  });
  if (freed) pmem::fence();
  return sound;
}

void ItemHeap::Store(uint16_t* entry, uint64_t value) {
  pmem::atomic_store(entry, static_cast<uint16_t>(value));
  pmem::flush_line(entry);
}

// Free units for an item of `bytes`, or 0. If there are none, the lane's garbage may be in their place.
uint64_t Table::PickCell(LaneHold* lane, uint64_t bytes) {
  const uint64_t cell = PickFree(lane, bytes);
  if (cell != 0 || lane->get()->garbage_count == 0) return cell;
  Collect(lane, true);
  return PickFree(lane, bytes);
}

uint64_t Table::PickFree(LaneHold* lane, uint64_t bytes) {
  if (powercut_refuse_allocation != nullptr && powercut_refuse_allocation(bytes) != 0) return 0;
  if (options_.has_chunks && bytes <= ItemHeap::kMostInChunk) return PickInChunk(lane, bytes);
  lane->LockHeap();
  return items_.Pick(bytes);
}

void Table::FillCell(uint64_t cell, Bytes key, Bytes value) {
  ItemHeader sizes{key.size, value.size};
  DO_IF (Bug::kItemSizeLate) sizes.value_size = HeaderOf(cell).value_size;
  StoreSizes(cell, sizes);
  value.CopyTo(key.CopyTo(HeaderWord(cell) + 1));
}

// Starts the write-back of an item, the new version of the one in `stale` if that is not 0.
void Table::FlushCell(uint64_t cell, [[maybe_unused]] uint64_t stale) const {
  uint64_t bytes = HeaderOf(cell).bytes();
  DO_IF (Bug::kItemSizesAlone) bytes = sizeof(ItemHeader);
  DO_IF (Bug::kItemOldSize) bytes = HeaderOf(stale != 0 ? stale : cell).bytes();
  pmem::flush(HeaderWord(cell), bytes);
}

bool Table::ShortenInPlace(uint64_t cell, Bytes value) {
  if (!options_.pointer || value.size > HeaderOf(cell).value_size) return false;
  const ItemHeader sizes = HeaderOf(cell);
  uint8_t* to = pool_.base + cell + sizeof sizes + sizes.key_size;
  value.CopyTo(to);
  pmem::persist(to, value.size);
  PersistSizes(cell, {sizes.key_size, value.size});
  return true;
}

void Table::PersistSizes(uint64_t cell, ItemHeader sizes) {
  StoreSizes(cell, sizes);
  pmem::persist(HeaderWord(cell), sizeof sizes);
}

void Table::LogItems(const LaneHold& lane, const Slot* slot, uint64_t fresh, uint64_t stale) {
  if (options_.transactional) return;
  ItemLog* log = &lane.get()->log->items;
  // Without this store the old slot would be judged with the new cells.
  SKIP_IF (Bug::kItemLogOneWrite) pmem::atomic_store(&log->slot, uint64_t{0});
  pmem::atomic_store(&log->fresh, fresh);
  // `published`: pmemobj_alloc covers the new cell up to the pointer; the old one waits in a volatile garbage pool.
  pmem::atomic_store(&log->stale, options_.hardened ? stale : uint64_t{0});
  pmem::atomic_store(&log->slot, OffsetOf(slot));
  pmem::persist(log, sizeof *log);
}

// The log of the only lane stays: its entry is true until the next operation overwrites the log. With more lanes a cell
// may have another owner by then. The debt of a transaction is paid.
void Table::EndLog(const LaneHold& lane) {
  if (lanes_.count() == 1 && !options_.transactional) return;
  ItemLog* log = &lane.get()->log->items;
  uint64_t* valid = options_.transactional ? &log->stale : &log->slot;
  if (*valid == 0) return;
  pmem::atomic_store(valid, uint64_t{0});
  pmem::persist(log, sizeof *log);
}

void Table::ClearItemLog(const LaneHold& lane) {
  ItemLog* log = &lane.get()->log->items;
  if (!options_.pointer || log->slot == 0) return;
  pmem::atomic_store(&log->slot, uint64_t{0});
  pmem::persist(log, sizeof *log);
}

bool Table::ReplayItemLog(const ItemLog& log) {
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

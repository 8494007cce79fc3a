// Cells of allocator=threads: each lane takes cells from a chunk of its own and needs no lock for that, as threads of
// PMDK do. A chunk is 16 units of the heap. Its first unit is the chunk's header: the entries of the other units.
//
//   1. clear   the header                                              durable
//   2. carve   the heap's entry: a chunk of 16 units begins here       durable
//
// The units may have been anything before, so a header must not count before it is empty. The heap is locked while a
// chunk is carved, and for a cell that is longer than a chunk. Whoever frees a cell clears the entry of the cell by one
// store, whosever the chunk is; its owner alone sets entries.
//
// Which lane owns a chunk is volatile. Open gives empty chunks back to the heap: a cut may have come before the first
// cell. All others have no owner at first. A lane without room takes one that has no owner, before a new one is carved.
#include "targets/common/planted_bugs.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

bool ItemHeap::UseChunks() {
  owner_.reset(new (std::nothrow) uint8_t[units_ / kChunkUnits + 1]());
  return owner_ != nullptr;
}

// First fit.
uint64_t ItemHeap::PickIn(uint64_t chunk, uint64_t bytes) const {
  const uint16_t* entries = HeaderOf(UnitAt(chunk));
  const uint64_t need = UnitsOf(bytes);
  uint64_t run = 1;  // where the current run of free units began
  for (uint64_t at = 1; at < kChunkUnits && at < run + need;) {
    const uint64_t length = LengthIn(pmem::atomic_load(&entries[at]));
    at += length == 0 ? 1 : length;
    if (length != 0) run = at;
  }
  return run + need <= kChunkUnits ? chunk + run * kUnit : 0;
}

uint64_t ItemHeap::ChunkWithRoom(uint8_t lane, uint64_t bytes) {
  for (uint64_t at = 0; at + kChunkUnits <= units_; at += kChunkUnits) {
    if (!IsChunkAt(at)) continue;
    uint8_t* owner = &owner_[at / kChunkUnits];
    if ((*owner != 0 && *owner != lane + 1) || PickIn(OffsetOf(at), bytes) == 0) continue;
    *owner = static_cast<uint8_t>(lane + 1);
    return OffsetOf(at);
  }
  return 0;
}

void ItemHeap::ClearHeader(uint64_t chunk) {
  auto* words = reinterpret_cast<uint64_t*>(HeaderOf(UnitAt(chunk)));
  for (uint64_t i = 0; i < kUnit / sizeof *words; ++i) pmem::atomic_store(&words[i], uint64_t{0});
  pmem::persist(words, kUnit);
}

void ItemHeap::TakeChunk(uint64_t chunk, uint8_t lane) {
  owner_[UnitAt(chunk) / kChunkUnits] = static_cast<uint8_t>(lane + 1);
  Store(&entries_[UnitAt(chunk)], kChunk | kChunkUnits);
  pmem::fence();
}

bool ItemHeap::IsEmpty(uint64_t chunk) const {
  const uint16_t* entries = HeaderOf(UnitAt(chunk));
  for (uint64_t at = 1; at < kChunkUnits; ++at) {
    if (entries[at] != 0) return false;
  }
  return true;
}

bool ItemHeap::FreeEmptyChunks() {
  bool freed = false;
  for (uint64_t at = 0; at + kChunkUnits <= units_; at += kChunkUnits) {
    if (!IsChunkAt(at)) continue;
    if (!ForEachIn(at, [](uint64_t, uint64_t) {})) return false;
    if (!IsEmpty(OffsetOf(at))) continue;
    pmem::mark("recover.chunk");
    Store(&entries_[at], 0);
    freed = true;
  }
  if (freed) pmem::fence();
  return true;
}

uint64_t Table::Carve(LaneHold* lane) {
  const uint64_t chunk = items_.PickChunk();
  if (chunk == 0) return 0;
  SKIP_IF (Bug::kChunkHeaderLate) items_.ClearHeader(chunk);
  items_.TakeChunk(chunk, lane->get()->number);
  pmem::mark("chunk.carved");
  DO_IF (Bug::kChunkHeaderLate) items_.ClearHeader(chunk);
  return chunk;
}

// Free units of the lane's chunk, or of another one.
uint64_t Table::PickInChunk(LaneHold* lane, uint64_t bytes) {
  uint64_t* chunk = &lane->get()->chunk;
  const uint64_t cell = *chunk == 0 ? 0 : items_.PickIn(*chunk, bytes);
  if (cell != 0) return cell;
  lane->LockHeap();
  uint64_t other = items_.ChunkWithRoom(lane->get()->number, bytes);
  if (other == 0) other = Carve(lane);
  if (other == 0) return 0;
  *chunk = other;
  return items_.PickIn(other, bytes);
}

}  // namespace powercut::turbohash

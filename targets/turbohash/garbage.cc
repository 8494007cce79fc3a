// Freed memory that readers may still be in (3.6). With reclaim=wait the writer waits until the readers of the shard
// have left. With reclaim=pool, as in the paper, the memory goes to the garbage pool of the writer's lane. A later
// write of the lane frees it when no reader of its epoch is left.
//
// The pool is volatile, and a power cut must not leak what lies in it. A block that no set in use names is freed by the
// sweep at open. A cell in the pool carries a bit in its entry: the bit is durable before the log, which names the cell
// until then, is used again. Open frees every cell with the bit. The cell's entry changes by one store each time:
// taken, garbage, free. No state in between lets two owners have the cell.
#include "targets/common/planted_bugs.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

uint32_t Table::Unlink(uint64_t shard) {
  if (gates_ == nullptr) return 0;
  if (options_.pools_garbage()) return gates_[shard].readers.Now();
  gates_[shard].readers.AwaitReaders();
  return 0;
}

void Table::Reclaim(LaneHold* lane, const Garbage& garbage) {
  if (!options_.pools_garbage()) return Free(lane, garbage);
  if (IsCell(garbage.offset) && options_.hardened) {
    items_.MarkGarbage(garbage.offset);
    pmem::fence();
    pmem::mark("garbage.marked");
  }
  Lane* at = lane->get();
  if (at->garbage_count == Lane::kMostGarbage) Collect(lane, true);
  at->garbage[at->garbage_count++] = garbage;
  Collect(lane, false);
}

// Frees what lies in the lane's garbage pool and no reader is in; with `waits`, all of it.
void Table::Collect(LaneHold* lane, bool waits) {
  Lane* at = lane->get();
  uint32_t kept = 0;
  for (uint32_t i = 0; i < at->garbage_count; ++i) {
    const Garbage garbage = at->garbage[i];
    Epochs* readers = &gates_[garbage.shard].readers;
    readers->TryAdvance();
    while (waits && !readers->HavePassed(garbage.epoch)) {
      pmem::pause();
      readers->TryAdvance();
    }
    if (readers->HavePassed(garbage.epoch) || Has(Bug::kGarbageNotAwaited)) {
      Free(lane, garbage);
    } else {
      pmem::mark("garbage.kept");
      at->garbage[kept++] = garbage;
    }
  }
  at->garbage_count = kept;
}

void Table::Free(LaneHold* lane, const Garbage& garbage) {
  if (IsCell(garbage.offset)) {
    if (!items_.IsInChunk(garbage.offset)) lane->LockHeap();
    items_.Release(garbage.offset);
    pmem::fence();
    return;
  }
  lane->LockHeap();
  if (!options_.hardened) ClearOldSet(&directory()[garbage.shard], garbage.offset);
  allocator_.Free(garbage.offset);
}

bool Table::IsGarbage(uint64_t offset) const {
  for (const Lane& lane : lanes_) {
    for (uint32_t i = 0; i < lane.garbage_count; ++i) {
      if (lane.garbage[i].offset == offset) return true;
    }
  }
  return false;
}

}  // namespace powercut::turbohash

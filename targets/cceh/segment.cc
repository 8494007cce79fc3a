// Segments: where an item may lie, how it gets there, and the lock word.
#include "targets/cceh/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cceh {

// Lazy deletion: a slot is free if it holds no key, or one whose hash the segment does not cover any more.
bool Table::IsFree(const Segment* segment, uint64_t key) const {
  if (key == kInvalid) return true;
  if (options_.cow || key == kSentinel) return false;
  return !Meta::Decode(segment->meta).Covers(HashOf(key));
}

Slot* Table::Find(Segment* segment, uint64_t hash, uint64_t key) const {
  const uint64_t begin = WindowBegin(hash), size = WindowSize();
  for (uint64_t i = 0; i < size; ++i) {
    Slot* slot = WindowSlot(segment, begin, i);
    if (pmem::atomic_load(&slot->key) == key) return slot;
  }
  return nullptr;
}

// False: no slot of the window is free, nothing changed.
bool Table::Place(Segment* segment, uint64_t hash, uint64_t key, uint64_t value) {
  const uint64_t begin = WindowBegin(hash), size = WindowSize();
  for (uint64_t i = 0; i < size; ++i) {
    Slot* slot = WindowSlot(segment, begin, i);
    const uint64_t found = pmem::atomic_load(&slot->key);
    if (!IsFree(segment, found)) continue;
    pmem::mark(found != kInvalid ? "insert.stale" : i < kSlotsPerLine ? "insert.home" : "insert.probe");
    // The public code claims the slot with a CAS, so that no other thread takes it. Who is alone needs no claim.
    if (AsAuthors()) {
      if (!CompareExchange(&slot->key, found, kSentinel)) continue;
      pmem::mark("insert.claimed");
    } else if (!options_.hardened || Has(Bug::kSentinelLeaks)) {
      pmem::atomic_store(&slot->key, kSentinel);
      pmem::mark("insert.claimed");
    }
    DO_IF (Bug::kKeyBeforeValue) pmem::atomic_store(&slot->key, key);
    // Two stores to one line reach memory in this order, so no fence stands between them. A stale key stays stale
    // whatever its value is.
    pmem::atomic_store(&slot->value, value);
    SKIP_IF (Bug::kKeyBeforeValue) pmem::atomic_store(&slot->key, key);
    pmem::persist(Has(Bug::kFlushHomeLine) ? WindowSlot(segment, begin, 0) : slot, sizeof *slot);
    return true;
  }
  return false;
}

// With one thread a lock is held only while its operation runs: to wait for it is to wait for ever.
void Table::EnterShared(Segment* segment) const {
  while (pmem::atomic_load(&segment->lock) < 0) {
  }
  pmem::atomic_store(&segment->lock, segment->lock + 1);
}

void Table::LeaveShared(Segment* segment) const { pmem::atomic_store(&segment->lock, segment->lock - 1); }

void Table::EnterExclusive(Segment* segment) const {
  while (pmem::atomic_load(&segment->lock) != 0) {
  }
  pmem::atomic_store(&segment->lock, int64_t{-1});
}

void Table::LeaveExclusive(Segment* segment) const { pmem::atomic_store(&segment->lock, int64_t{0}); }

// An item keeps its slot: it is inside its window there, and two segments of one size have the same windows. (The
// public code probes again, and drops an item that finds no place.)
Segment* Table::NewSegment(const Segment* from, Meta meta, bool flushed) {
  const uint64_t offset = Allocate(Segment::Bytes(options_.slots));
  if (offset == 0) return nullptr;
  Segment* segment = SegmentAt(offset);
  segment->meta = meta.Encode();
  segment->lock = 0;
  for (uint64_t i = 0; i < options_.slots; ++i) {
    Slot* slot = &segment->slots()[i];
    const uint64_t key = from == nullptr ? kInvalid : from->slots()[i].key;
    const bool moves = !IsReserved(key) && meta.Covers(HashOf(key));
    if (moves) slot->value = from->slots()[i].value;
    slot->key = moves ? key : kInvalid;
  }
  if (flushed) pmem::persist(segment, Segment::Bytes(options_.slots));
  return segment;
}

}  // namespace powercut::cceh

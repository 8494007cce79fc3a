// Segments: where an item may lie, how it gets there, and the lock word.
#include "targets/cceh/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cceh {

// Lazy deletion: a slot is free if it holds no key, or one whose hash the segment does not cover any more.
bool Table::IsFree(const Segment* segment, uint64_t key) const {
  if (key == kInvalid) return true;
  if (options_.cow || key == kSentinel) return false;
  return !Meta::Decode(segment->meta).Covers(HashOfWord(key));
}

Table::Sought Table::Seek(Bytes key) const {
  if (HasPointers()) return {key, HashOf(key), HashOf(key)};
  uint64_t word;
  std::memcpy(&word, key.data, sizeof word);
  return {key, HashOf(word), word};
}

Slot* Table::Find(Segment* segment, const Sought& sought) const {
  const uint64_t size = ProbedSlots();
  for (uint64_t i = 0; i < size; ++i) {
    Slot* slot = WindowSlot(segment, sought.hash, i);
    if (pmem::atomic_load(&slot->key) == sought.word && Holds(slot, sought)) return slot;
  }
  return nullptr;
}

// False: no slot that may hold the key is free, nothing changed.
bool Table::Place(Segment* segment, const Sought& sought, uint64_t value) {
  const uint64_t size = ProbedSlots(), key = sought.word;
  for (uint64_t i = 0; i < size; ++i) {
    Slot* slot = WindowSlot(segment, sought.hash, i);
    const uint64_t found = pmem::atomic_load(&slot->key);
    if (!IsFree(segment, found)) continue;
    pmem::mark(found != kInvalid   ? "insert.stale"
               : i < kSlotsPerLine ? "insert.home"
               : i < WindowSize()  ? "insert.probe"
                                   : "insert.second");
    Change change(this, slot);
    // The public code claims the slot with a CAS, so that no other thread takes it. Who is alone needs no claim.
    if (AsAuthors()) {
      if (!CompareExchange(&slot->key, found, kSentinel)) continue;
      pmem::mark("insert.claimed");
    } else if ((!options_.hardened && !AsPorted()) || Has(Bug::kSentinelLeaks)) {
      pmem::atomic_store(&slot->key, kSentinel);
      pmem::mark("insert.claimed");
    }
    DO_IF (Bug::kKeyBeforeValue) pmem::atomic_store(&slot->key, key);
    // Two stores to one line reach memory in this order, so no fence stands between them. A stale key stays stale
    // whatever its value is.
    pmem::atomic_store(&slot->value, value);
    SKIP_IF (Bug::kKeyBeforeValue) pmem::atomic_store(&slot->key, key);
    change.Commit(Has(Bug::kFlushHomeLine) ? WindowSlot(segment, sought.hash, 0) : slot, HasPointers() ? value : 0);
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
    const bool moves = !IsReserved(key) && meta.Covers(HashOfWord(key));
    if (moves) slot->value = from->slots()[i].value;
    slot->key = moves ? key : kInvalid;
  }
  DO_IF (Bug::kSplitProbesAgain) ProbeAgain(from, segment, meta);
  if (flushed) pmem::persist(segment, Segment::Bytes(options_.slots));
  return segment;
}

// As Insert4split of the public code.
void Table::ProbeAgain(const Segment* from, Segment* to, Meta meta) const {
  for (uint64_t i = 0; i < options_.slots; ++i) to->slots()[i].key = kInvalid;
  for (uint64_t i = 0; from != nullptr && i < options_.slots; ++i) {
    const Slot& slot = from->slots()[i];
    if (IsReserved(slot.key) || !meta.Covers(HashOfWord(slot.key))) continue;
    uint64_t at = 0;
    while (at < ProbedSlots() && WindowSlot(to, HashOfWord(slot.key), at)->key != kInvalid) ++at;
    if (at < ProbedSlots()) *WindowSlot(to, HashOfWord(slot.key), at) = slot;
  }
}

}  // namespace powercut::cceh

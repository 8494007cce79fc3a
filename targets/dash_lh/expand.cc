// Hybrid expansion: where segments lie, and how more of them come to be. N and Next lie in one word.
#include "targets/common/planted_bugs.h"
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {
namespace {

bool Exchange(uint64_t* word, uint64_t* seen, uint64_t next) {
  return __atomic_compare_exchange_n(word, seen, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

}  // namespace

Table::Seat Table::SeatOf(uint64_t index) const {
  uint32_t array = 0;
  for (; array < kArrays && index >= ArraySize(array); ++array) index -= ArraySize(array);
  return {array, index};
}

Segment* Table::SegmentOf(uint64_t index) const {
  const Seat seat = SeatOf(index);
  return SegmentAt(pmem::atomic_load(&root()->array[seat.array]) + seat.place * segment_bytes());
}

// The array is cleared and named by the directory, durably, before N and Next say that its segments exist.
void Table::Expand() {
  if (AsAuthors()) return ExpandAsAuthors();
  const SpinGuard guard(Has(Bug::kExpandUnlocked) ? nullptr : LockOf(&Locks::directory));
  const Round now = round();
  const uint32_t array = SeatOf(now.count() + options_.expand - 1).array;
  if (array == kArrays) return;
  const auto raise = [&] {
    pmem::atomic_store(&root()->round, now.After(options_.expand).Encode());
    SKIP_IF (Bug::kRoundNotFlushed) pmem::persist(&root()->round, sizeof root()->round);
  };
  if (root()->array[array] == 0 || root()->array[array] == kReserved) {
    DO_IF (Bug::kRoundBeforeArray) raise();
    if (!AllocateArray(array)) {
      pmem::mark("expand.full");
      return;
    }
  }
  SKIP_IF (Bug::kRoundBeforeArray) raise();
  pmem::mark("expand.done");
}

// Threads compete for the entry, and for N and Next.
void Table::ExpandAsAuthors() {
  for (;; pmem::pause()) {
    uint64_t word = pmem::atomic_load(&root()->round);
    const Round now = Round::Decode(word);
    const uint32_t array = SeatOf(now.count() + options_.expand - 1).array;
    if (array == kArrays) return;
    uint64_t* entry = &root()->array[array];
    uint64_t seen = pmem::atomic_load(entry);
    if (seen == kReserved) continue;
    if (seen == 0) {
      if (!Exchange(entry, &seen, kReserved)) continue;
      pmem::mark("expand.reserved");
      if (!AllocateArray(array)) {
        pmem::mark("expand.full");
        return;
      }
    }
    if (!Exchange(&root()->round, &word, now.After(options_.expand).Encode())) continue;
    pmem::persist(&root()->round, sizeof root()->round);
    pmem::mark("expand.done");
    return;
  }
}

bool Table::AllocateArray(uint32_t array) {
  uint64_t* entry = &root()->array[array];
  if (!options_.hardened && !options_.concurrent) {
    // Another thread allocates the array, as far as the authors' code can tell.
    while (pmem::atomic_load(entry) == kReserved) pmem::pause();
    pmem::atomic_store(entry, kReserved);
    pmem::mark("expand.reserved");
  }
  const uint64_t size = ArraySize(array);
  const uint64_t block = Allocate(size * segment_bytes());
  if (block == 0 || !ListSegments(block, size)) {
    if (block != 0) Free(block);
    ReleaseReserved(array);
    return false;
  }
  for (uint64_t i = 0; i < size; ++i) {
    Segment* segment = SegmentAt(block + i * segment_bytes());
    std::memset(segment, 0, pmem::kLine);
    if (AsAuthors()) segment->version = root()->version;  // nothing to recover: nobody has locked it
    pmem::flush_line(segment);
    ClearBuckets(segment);
    for (uint32_t b = 0; b < all_buckets(); ++b) pmem::flush_line(segment->bucket(b));
  }
  pmem::fence();
  pmem::mark("expand.cleared");
  StoreField(entry, block);
  pmem::mark("expand.array");
  return true;
}

// Volatile. False: no memory for the list.
bool Table::ListSegments(uint64_t block, uint64_t count) {
  const SpinGuard guard(LockOf(&Locks::memory));
  for (uint64_t i = 0; i < count; ++i) {
    if (segments_.Reserve()) continue;
    while (i-- > 0) segments_.Unreserve();
    return false;
  }
  for (uint64_t i = 0; i < count; ++i) segments_.Add(block + i * segment_bytes());
  return true;
}

void Table::ReleaseReserved(uint32_t array) {
  if (!options_.hardened) pmem::atomic_store(&root()->array[array], uint64_t{0});
}

}  // namespace powercut::dash_lh

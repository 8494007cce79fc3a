// Hybrid expansion: where segments lie, and how more of them come to be. N and Next lie in one word.
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {

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
  const Round now = round();
  const uint32_t array = SeatOf(now.count() + options_.expand - 1).array;
  if (array == kArrays) return;
  const auto raise = [&] {
    pmem::atomic_store(&root()->round, now.After(options_.expand).Encode());
    if (!Has(Bug::kRoundNotFlushed)) pmem::persist(&root()->round, sizeof root()->round);
  };
  if (root()->array[array] == 0 || root()->array[array] == kReserved) {
    if (Has(Bug::kRoundBeforeArray)) raise();
    if (!AllocateArray(array)) {
      pmem::mark("expand.full");
      return;
    }
  }
  if (!Has(Bug::kRoundBeforeArray)) raise();
  pmem::mark("expand.done");
}

bool Table::AllocateArray(uint32_t array) {
  uint64_t* entry = &root()->array[array];
  if (!options_.hardened) {
    // Another thread allocates the array, as far as the authors' code can tell.
    while (pmem::atomic_load(entry) == kReserved) pmem::pause();
    pmem::atomic_store(entry, kReserved);
    pmem::mark("expand.reserved");
  }
  const uint64_t size = ArraySize(array);
  for (uint64_t i = 0; i < size; ++i) {
    if (segments_.Reserve()) continue;
    while (i-- > 0) segments_.Unreserve();
    ReleaseReserved(array);
    return false;
  }
  const uint64_t block = allocator_.Allocate(size * segment_bytes());
  if (block == 0) {
    for (uint64_t i = 0; i < size; ++i) segments_.Unreserve();
    ReleaseReserved(array);
    return false;
  }
  for (uint64_t i = 0; i < size; ++i) {
    Segment* segment = SegmentAt(block + i * segment_bytes());
    std::memset(segment, 0, pmem::kLine);
    pmem::flush_line(segment);
    ClearBuckets(segment);
    for (uint32_t b = 0; b < all_buckets(); ++b) pmem::flush_line(segment->bucket(b));
  }
  pmem::fence();
  pmem::mark("expand.cleared");
  StoreField(entry, block);
  pmem::mark("expand.array");
  for (uint64_t i = 0; i < size; ++i) segments_.Add(block + i * segment_bytes());
  return true;
}

void Table::ReleaseReserved(uint32_t array) {
  if (!options_.hardened) pmem::atomic_store(&root()->array[array], uint64_t{0});
}

}  // namespace powercut::dash_lh

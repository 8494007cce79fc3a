// Resizing out of place (OSDI'18, 2.3): every item is copied to a new table, which then takes the old one's place by
// one store. Nothing reaches the new table before, so its buckets and heads need no order among themselves; they are
// written back once, as a whole. The deletions of 3.3(3) from the old table happen all at once, by the same store.
#include <cstring>

#include "targets/common/planted_bugs.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {

powercut_status Table::Maintain(const char* command) {
  return std::strcmp(command, "shrink") == 0 ? Shrink() : Expand();
}

// Doubles the number of buckets, or more.
powercut_status Table::Expand() {
  return ExpandTo<Body>(
      body_.shape.buckets_log2 + 1, kLogs, [this](uint32_t log2, Body* next) { return Build(log2, next); },
      [this](const Body& next) { Replace(next); });
}

powercut_status Table::Shrink() {
  return ShrinkTo<Body>(
      body_.shape.buckets_log2 - 1, [this](uint32_t log2, Body* next) { return Build(log2, next); },
      [this](const Body& next) { Replace(next); });
}

Table::Built Table::Build(uint32_t buckets_log2, Body* next) {
  *next = {.shape = Shape(buckets_log2, bucket_, options_), .base = nullptr, .stash_items = 0, .named = false};
  const uint64_t offset = allocator_.Allocate(next->shape.bytes);
  if (offset == 0) return Built::kNoRoom;
  next->base = pool_.base + offset;
  std::memset(next->base, 0, next->shape.bytes);
  if (!CopyItems(next)) {
    FreeAll(*next);
    return Built::kNoPlace;
  }
  SKIP_IF (Bug::kResizePublishEarly) pmem::persist(next->base, next->shape.bytes);
  pmem::mark("resize.built");
  return Built::kYes;
}

bool Table::CopyItems(Body* next) {
  const auto copy = [&](const Place& place) {
    // If an interrupted displacement left two copies, the copy that search finds goes along.
    if (options_.hardened && Find(place.item).item != place.item) {
      pmem::mark("rehash.duplicate");
      return false;
    }
    if (!PlaceItem(next, place.item)) return true;
    if (Has(Bug::kRehashClearFirst) && place.bucket != nullptr) Clear(place.bucket, place.slot);
    return false;
  };
  for (uint64_t index = 0; index < body_.shape.buckets(); ++index) {
    if (ForEachInBucket(Bucket(body_, index), copy)) return false;
  }
  for (uint64_t chain = 0; chain < body_.shape.chains; ++chain) {
    if (ForEachInChain(body_, chain, copy)) return false;
  }
  return true;
}

void Table::Replace(const Body& next) {
  const Body old = body_;
  NameTable(OffsetOf(next.base), next.shape.buckets_log2);
  pmem::mark("resize.published");
  DO_IF (Bug::kResizePublishEarly) pmem::persist(next.base, next.shape.bytes);
  body_ = next;
  body_.named = true;
  // Unnamed first, freed next: a cut in between leaves blocks that the next open sweeps.
  FreeAll(old);
}

// Precondition: no durable word names the table.
void Table::FreeAll(const Body& body) {
  for (uint64_t chain = 0; chain < body.shape.chains; ++chain) {
    for (uint64_t offset = *Head(body, chain); offset != 0;) {
      const uint64_t next = NodeAt(offset)->next;
      allocator_.Free(offset);
      offset = next;
    }
  }
  allocator_.Free(OffsetOf(body.base));
}

}  // namespace powercut::pfht

// Resizing out of place (OSDI'18, 2.2.3):
//   copy     Every item is copied to a new table, which then takes the old one's place by one store. Nothing reaches
//            the new table before, so its buckets and heads need no order among themselves; they are written back
//            once, as a whole. The deletions of 3.3(3) from the old table happen all at once, by the same store.
//   rehash   The new table is named while it is empty, and the items move one by one (3.3(3)): insertion into the new
//            table, then deletion from the old one. Recovery finishes what a cut has left.
#include <cstring>
#include <utility>

#include "targets/common/planted_bugs.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {

powercut_status Table::Maintain(const char* command) {
  return std::strcmp(command, "shrink") == 0 ? Shrink() : Expand();
}

// Doubles the number of buckets, or more.
powercut_status Table::Expand() {
  if (options_.resize == Resize::kRehash) {
    if (older_.count == 0 && !Introduce(body_.shape.buckets_log2 + 1)) {
      pmem::mark("expand.refused");
      return POWERCUT_FULL;
    }
    const powercut_status status = FinishRehash(/*recovering=*/false);
    if (status == POWERCUT_OK) pmem::mark("expand.done");
    return status;
  }
  return ExpandTo<Body>(
      body_.shape.buckets_log2 + 1, kLogs, [this](uint32_t log2, Body* next) { return Build(log2, next); },
      [this](const Body& next) { Replace(next); });
}

powercut_status Table::Shrink() {
  if (options_.resize == Resize::kRehash) {
    const uint32_t log2 = body_.shape.buckets_log2 - 1;
    if (older_.count > 0 || log2 == 0 || !Introduce(log2)) return POWERCUT_FULL;
    const powercut_status status = FinishRehash(/*recovering=*/false);
    if (status != POWERCUT_OK || body_.shape.buckets_log2 != log2) return POWERCUT_FULL;
    pmem::mark("shrink.done");
    return POWERCUT_OK;
  }
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

bool Table::Introduce(uint32_t buckets_log2) {
  if (older_.full() || buckets_log2 >= kLogs) return false;
  Body next{.shape = Shape(buckets_log2, bucket_, options_)};
  next.base = NameInFront(next.shape.bytes, buckets_log2);
  if (next.base == nullptr) return false;
  older_.Push(body_);
  body_ = next;
  return true;
}

powercut_status Table::FinishRehash(bool recovering) {
  const powercut_status status =
      MoveAll([&] { return RehashItems(recovering); }, [this] { return Introduce(body_.shape.buckets_log2 + 1); });
  if (status != POWERCUT_OK) return status;
  ForgetOlder(body_.base, body_.shape.bytes);
  for (const Body& older : older_) allocator_.Free(OffsetOf(older.base));
  older_.count = 0;
  pmem::mark("rehash.done");
  return POWERCUT_OK;
}

// "only the first item to be rehashed ... may be inconsistent" (3.3(3)): the items move in one order, so all items
// before the one that was cut are gone from the old table. `hardened` looks at every item: an item that a cut
// displacement has doubled would exist three times while it moves.
bool Table::RehashItems(bool recovering) {
  bool first = recovering;
  const auto rehash = [&](const Place& place) {
    return !RehashItem(place, std::exchange(first, false) || options_.hardened);
  };
  for (const Body& older : older_) {
    for (uint64_t index = 0; index < older.shape.buckets(); ++index) {
      if (ForEachInBucket(Bucket(older, index), rehash)) return false;
    }
    DO_IF (Bug::kRehashStashLeft) continue;
    for (uint64_t chain = 0; chain < older.shape.chains; ++chain) {
      uint64_t* head = Head(older, chain);
      while (*head != 0) {
        if (rehash(NodePlace(older, head))) return false;
      }
    }
  }
  return true;
}

// Returns false if the item finds no place in the new table; it is still in its old one.
bool Table::RehashItem(const Place& place, bool look_for_copy) {
  if (look_for_copy) {
    const auto is_other = [&](const Place& copy) { return copy.item != place.item; };
    // "we only need to query the key of [the first item] in the top-two levels", that is, in the new table.
    if (options_.hardened ? ForEachPlace(place.item, is_other) : ForEachPlaceIn(body_, place.item, is_other)) {
      pmem::mark("rehash.duplicate");
      Remove(place);
      return true;
    }
  }
  TokenItem item;
  bucket_.Copy(item.bytes, place.item);
  DO_IF (Bug::kItemClearFirst) Remove(place);
  if (!PlaceItem(&body_, item.bytes)) return false;
  pmem::mark("rehash.copied");
  SKIP_IF (Bug::kItemClearFirst) Remove(place);
  return true;
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

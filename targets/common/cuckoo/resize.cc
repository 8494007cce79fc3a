// Resizing, out of place: a whole new slot array takes all items.
//
//   copy     the new array is filled before anything refers to it, written back as a whole, then published by one
//            store. A cut before that store undoes the resize: the new block is swept.
//   rehash   the new array is published empty, in front of the old one; the items move one by one (OSDI 2018, 3.3(3):
//            copy, set token, clear old token). A cut is finished by recovery.
//
// A rehash whose item finds no place is turned into another state that is legal in itself ([] = being emptied):
//   shrink that does not fit   N, [2N]  ->  2N, [N]         (turned around; nothing to allocate)
//   otherwise                  N, [M]   ->  2N, [N, M]      (grown)
// and if the pool has no room to grow, the old array stays attached: every operation but insert treats the old array
// like the first array, and the next insert that fails tries again.
#include <initializer_list>
#include <utility>

#include "targets/common/cuckoo/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cuckoo {

powercut_status Table::Maintain(const char* command) {
  const ResizeGuard guard(locks_.get());
  if (std::strcmp(command, "expand") == 0) return Expand();
  if (std::strcmp(command, "shrink") == 0) return Shrink();
  return POWERCUT_UNSUPPORTED;
}

powercut_status Table::Expand() {
  if (array_count_ > 1) return FinishRehash(/*recovering=*/false);
  const auto log2 = static_cast<uint8_t>(arrays_[0].log2 + 1);
  return options_.rehash ? ResizeByRehash(log2) : ResizeByCopy(log2);
}

powercut_status Table::Shrink() {
  if (array_count_ > 1 || arrays_[0].log2 <= 1) return POWERCUT_FULL;
  const auto log2 = static_cast<uint8_t>(arrays_[0].log2 - 1);
  const powercut_status status = options_.rehash ? ResizeByRehash(log2) : ResizeByCopy(log2);
  if (status != POWERCUT_OK) return status;
  return arrays_[0].log2 == log2 ? POWERCUT_OK : POWERCUT_FULL;
}

powercut_status Table::ResizeByCopy(uint8_t log2) {
  SlotArray next;
  for (;; ++log2) {
    if (!AllocateArray(log2, &next)) return POWERCUT_FULL;
    std::memset(next.base, 0, geometry_.Bytes(log2));
    next.published = false;
    if (CopyInto(&next)) break;
    pmem::mark("resize.too_small");
    allocator_.Free(OffsetOf(next.base));
    if (log2 < arrays_[0].log2) return POWERCUT_FULL;
  }
  const uint64_t old = OffsetOf(arrays_[0].base);
  SKIP_IF (Bug::kResizeEarly) pmem::persist(next.base, geometry_.Bytes(next.log2));
  const ResizePause pause(Has(Bug::kPublishUnlocked) ? locks_.get() : nullptr);
  WriteDescriptor(next);
  DO_IF (Bug::kFreeEarly) allocator_.Free(old);
  ArrayList list;
  list.Add(next);
  Publish(list);
  pmem::mark("resize.published");
  DO_IF (Bug::kResizeEarly) pmem::persist(next.base, geometry_.Bytes(next.log2));
  // Unpublished first, freed next: a cut in between leaves a block that the next open sweeps.
  SKIP_IF (Bug::kFreeEarly) allocator_.Free(old);
  pmem::mark("resize.done");
  return POWERCUT_OK;
}

bool Table::CopyInto(const SlotArray* next) {
  const ResizePause pause(Has(Bug::kCopyBeside) ? locks_.get() : nullptr);
  const SlotArray* old = &arrays_[0];
  for (uint64_t b = 0; b < AllBuckets(*old); ++b) {
    Place place{old, b, 0};
    for (uint32_t rest = Tokens(place); rest != 0; rest &= rest - 1) {
      place.slot = static_cast<uint32_t>(std::countr_zero(rest));
      const Item item = Load(place);
      // One copy is enough of an item that a cut has doubled.
      auto any = [](const Place&) { return true; };
      if (options_.hardened && VisitCopies(next, item.bytes, ProbeOf(item.bytes), any)) continue;
      if (!PlaceItem(next, item)) return false;
    }
  }
  return true;
}

// Puts a new, empty array in front of those attached. False: pool full.
bool Table::Introduce(uint8_t log2) {
  ArrayList list;
  SlotArray next;
  if (array_count_ == kMostArrays || !AllocateArray(log2, &next)) return false;
  InitialiseTokens(next);
  SKIP_IF (Bug::kDescriptorLate) WriteDescriptor(next);
  list.Add(next);
  for (int i = 0; i < array_count_; ++i) list.Add(arrays_[i]);
  Publish(list);
  DO_IF (Bug::kDescriptorLate) WriteDescriptor(next);
  pmem::mark("rehash.published");
  return true;
}

powercut_status Table::ResizeByRehash(uint8_t log2) {
  return Introduce(log2) ? FinishRehash(/*recovering=*/false) : POWERCUT_FULL;
}

powercut_status Table::FinishRehash(bool recovering) {
  while (!Rehash(recovering)) {
    if (arrays_[1].log2 > arrays_[0].log2) {
      TurnAround();
    } else if (!Introduce(static_cast<uint8_t>(arrays_[0].log2 + 1))) {
      pmem::mark("rehash.stuck");
      return POWERCUT_FULL;
    }
  }
  uint64_t emptied[kMostArrays];
  const int count = array_count_ - 1;
  for (int i = 0; i < count; ++i) emptied[i] = OffsetOf(arrays_[1 + i].base);
  ArrayList list;
  list.Add(arrays_[0]);
  Publish(list);
  for (int i = 0; i < count; ++i) allocator_.Free(emptied[i]);
  pmem::mark("rehash.done");
  return POWERCUT_OK;
}

// Returns false if an item found no place; the item is still in its old slot.
//
// "Only the first item to be rehashed ... may be inconsistent" (3.3(3)): items are rehashed in one order, so whatever
// came before the item that was cut is cleared already. `hardened` looks at every item: one that an older cut has
// doubled would exist three times while it is on its way.
bool Table::Rehash(bool recovering) {
  bool check_duplicate = recovering;
  for (int i = 1; i < array_count_; ++i) {
    const SlotArray* array = &arrays_[i];
    for (uint64_t b = 0; b < AllBuckets(*array); ++b) {
      Place place{array, b, 0};
      for (uint32_t rest = Tokens(place); rest != 0; rest &= rest - 1) {
        place.slot = static_cast<uint32_t>(std::countr_zero(rest));
        if (!RehashItem(place, std::exchange(check_duplicate, false) || options_.hardened)) return false;
      }
    }
  }
  return true;
}

bool Table::RehashItem(const Place& place, bool check_duplicate) {
  if (check_duplicate) {
    const Place other = FindOtherCopy(place);
    // `published` asks the new table alone.
    if (other.found() && (options_.hardened || other.array == &arrays_[0])) {
      pmem::mark("rehash.duplicate");
      Clear(place);
      return true;
    }
  }
  const Item item = Load(place);
  DO_IF (Bug::kRehashClearFirst) Clear(place);
  if (!PlaceItem(&arrays_[0], item)) return false;
  pmem::mark("rehash.copied");
  SKIP_IF (Bug::kRehashClearFirst) Clear(place);
  return true;
}

// The larger array takes over again; items that were already rehashed out of the larger array are rehashed back.
void Table::TurnAround() {
  ArrayList list;
  list.Add(arrays_[1]);
  list.Add(arrays_[0]);
  for (int i = 2; i < array_count_; ++i) list.Add(arrays_[i]);
  Publish(list);
  pmem::mark("rehash.turned");
}

}  // namespace powercut::cuckoo

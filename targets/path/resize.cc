// Resizing out of place (OSDI'18, 2.2.3):
//   copy     Every item is copied to a new tree, which then takes the old one's place by one store. Nothing reaches the
//            new tree before, so its stores need no order; the tree is written back once, as a whole. The deletions of
//            3.3(3) from the old tree happen all at once, by the same store.
//   rehash   The new tree is named while it is empty, and the items move one by one (3.3(3)): insertion into the new
//            tree, then deletion from the old one. Recovery finishes what a cut has left.
#include <cstring>
#include <utility>

#include "targets/common/planted_bugs.h"
#include "targets/path/table.h"

namespace powercut::path {

powercut_status Table::Maintain(const char* command) {
  return std::strcmp(command, "shrink") == 0 ? Shrink() : Expand();
}

// Doubles the number of leaves, or more: the paths of a small tree are few, and half its cells need not be enough.
powercut_status Table::Expand() {
  if (options_.resize == Resize::kRehash) {
    if (older_.count == 0 && !Introduce(tree_.leaves_log2 + 1)) {
      pmem::mark("expand.refused");
      return POWERCUT_FULL;
    }
    const powercut_status status = FinishRehash(/*recovering=*/false);
    if (status == POWERCUT_OK) pmem::mark("expand.done");
    return status;
  }
  return ExpandTo<Tree>(
      tree_.leaves_log2 + 1, kLogs, [this](uint32_t log2, Tree* next) { return Build(log2, next); },
      [this](const Tree& next) { Replace(next); });
}

powercut_status Table::Shrink() {
  if (options_.resize == Resize::kRehash) {
    const uint32_t log2 = tree_.leaves_log2 - 1;
    if (older_.count > 0 || log2 == 0 || !Introduce(log2)) return POWERCUT_FULL;
    const powercut_status status = FinishRehash(/*recovering=*/false);
    if (status != POWERCUT_OK || tree_.leaves_log2 != log2) return POWERCUT_FULL;
    pmem::mark("shrink.done");
    return POWERCUT_OK;
  }
  return ShrinkTo<Tree>(
      tree_.leaves_log2 - 1, [this](uint32_t log2, Tree* next) { return Build(log2, next); },
      [this](const Tree& next) { Replace(next); });
}

Table::Built Table::Build(uint32_t leaves_log2, Tree* next) {
  *next = Shape(leaves_log2);
  const uint64_t bytes = Bytes(*next);
  const uint64_t offset = allocator_.Allocate(bytes);
  if (offset == 0) return Built::kNoRoom;
  next->cells = pool_.base + offset;
  std::memset(next->cells, 0, bytes);
  for (uint64_t index = 0; index < tree_.count(); ++index) {
    uint8_t* old = Cell(tree_, index);
    if (!IsUsed(old)) continue;
    const uint8_t* item = bucket_.Slot(old, 0);
    uint8_t* cell = FindFree(*next, item);
    if (cell == nullptr) {
      allocator_.Free(offset);
      return Built::kNoPlace;
    }
    bucket_.Copy(bucket_.Slot(cell, 0), item);
    bucket_.StoreTokens(cell, 1);
    DO_IF (Bug::kRehashClearFirst) Clear(old, 0);
    pmem::mark("rehash.copied");
  }
  SKIP_IF (Bug::kResizePublishEarly) pmem::persist(next->cells, bytes);
  pmem::mark("resize.built");
  return Built::kYes;
}

void Table::Replace(const Tree& next) {
  const uint64_t old = OffsetOf(tree_.cells);
  DO_IF (Bug::kResizeFreeFirst) allocator_.Free(old);
  NameTable(OffsetOf(next.cells), next.leaves_log2);
  pmem::mark("resize.published");
  DO_IF (Bug::kResizePublishEarly) pmem::persist(next.cells, Bytes(next));
  tree_ = next;
  // Unnamed first, freed next: a cut in between leaves a block that the next open sweeps.
  SKIP_IF (Bug::kResizeFreeFirst) allocator_.Free(old);
}

bool Table::Introduce(uint32_t leaves_log2) {
  if (older_.full() || leaves_log2 >= kLogs) return false;
  Tree next = Shape(leaves_log2);
  next.cells = NameInFront(Bytes(next), leaves_log2);
  if (next.cells == nullptr) return false;
  older_.Push(tree_);
  tree_ = next;
  return true;
}

powercut_status Table::FinishRehash(bool recovering) {
  const powercut_status status =
      MoveAll([&] { return RehashItems(recovering); }, [this] { return Introduce(tree_.leaves_log2 + 1); });
  if (status != POWERCUT_OK) return status;
  ForgetOlder(tree_.cells, Bytes(tree_));
  for (const Tree& older : older_) allocator_.Free(OffsetOf(older.cells));
  older_.count = 0;
  pmem::mark("rehash.done");
  return POWERCUT_OK;
}

// "only the first item to be rehashed ... may be inconsistent" (3.3(3)): the items move in one order, so all items
// before the one that was cut are gone from the old tree. Nothing else doubles an item.
bool Table::RehashItems(bool recovering) {
  bool first = recovering && !Has(Bug::kRehashUnchecked);
  for (const Tree& older : older_) {
    for (uint64_t index = 0; index < older.count(); ++index) {
      uint8_t* cell = Cell(older, index);
      if (IsUsed(cell) && !RehashItem(cell, std::exchange(first, false))) return false;
    }
  }
  return true;
}

// Returns false if the item finds no cell in the new tree; it is still in its old one.
bool Table::RehashItem(uint8_t* old, bool look_for_copy) {
  const uint8_t* item = bucket_.Slot(old, 0);
  if (look_for_copy && Find(item) != old) {
    pmem::mark("rehash.duplicate");
    Clear(old, 0);
    return true;
  }
  uint8_t* cell = FindFree(tree_, item);
  if (cell == nullptr) return false;
  DO_IF (Bug::kItemClearFirst) Clear(old, 0);
  Fill(cell, 0, item, Has(Bug::kInsertTokenFirst));
  pmem::mark("rehash.copied");
  SKIP_IF (Bug::kItemClearFirst) Clear(old, 0);
  return true;
}

}  // namespace powercut::path

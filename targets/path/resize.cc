// Resizing out of place (OSDI'18, 2.3): every item is copied to a new tree, which then takes the old one's place by one
// store. Nothing reaches the new tree before, so its stores need no order; the tree is written back once, as a whole.
// The deletions of 3.3(3) from the old tree happen all at once, by the same store.
#include <cstring>

#include "targets/common/planted_bugs.h"
#include "targets/path/table.h"

namespace powercut::path {

powercut_status Table::Maintain(const char* command) {
  return std::strcmp(command, "shrink") == 0 ? Shrink() : Expand();
}

// Doubles the number of leaves, or more: the paths of a small tree are few, and half its cells need not be enough.
powercut_status Table::Expand() {
  return ExpandTo<Tree>(
      tree_.leaves_log2 + 1, kUnit / 8, [this](uint32_t log2, Tree* next) { return Build(log2, next); },
      [this](const Tree& next) { Replace(next); });
}

powercut_status Table::Shrink() {
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

}  // namespace powercut::path

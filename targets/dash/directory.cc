// The directory: 2^depth entries, addressed by the most significant bits of the hash.
#include "targets/common/planted_bugs.h"
#include "targets/dash/table.h"

namespace powercut::dash {

powercut_status Table::WidenDirectory(uint32_t depth) {
  SpinGuard guard(Has(Bug::kDirectoryUnlocked) ? nullptr : LockOf(&Locks::directory));
  if (depth != global_depth()) return POWERCUT_OK;
  // The authors' splits take no lock to change entries, but are counted.
  while (AsAuthors() && pmem::atomic_load(&updating_) != 0) pmem::pause();
  return DoubleDirectory(&guard);
}

// The new directory is complete and durable before one store, of offset and depth together, makes it the directory.
powercut_status Table::DoubleDirectory(SpinGuard* guard) {
  const uint32_t depth = global_depth();
  if (depth == kMaxDepth) return POWERCUT_FULL;
  const uint64_t count = uint64_t{1} << depth;
  const uint64_t block = Allocate(2 * count * sizeof(uint64_t));
  if (block == 0) return POWERCUT_FULL;
  auto* wider = reinterpret_cast<uint64_t*>(pool_.base + block);
  const uint64_t* old = entries();
  for (uint64_t i = 0; i < count; ++i) wider[2 * i] = wider[2 * i + 1] = old[i];
  SKIP_IF (Bug::kDirectoryNotFlushed) pmem::persist(wider, 2 * count * sizeof *wider);
  pmem::mark("directory.filled");
  const uint64_t old_block = directory_at();
  pmem::atomic_store(&root()->directory, block | (depth + 1));
  DO_IF (Bug::kDirectoryUnlockedEarly) guard->Unlock();
  pmem::persist(&root()->directory, sizeof root()->directory);
  pmem::mark("directory.doubled");
  // In `published` with threads the next open frees it, in the place of the authors' epochs.
  if (!AsAuthors()) Free(old_block);
  return POWERCUT_OK;
}

// Several entries change one by one: until all are durable the split counts as unfinished, and both old and new
// entries lead to every record.
void Table::PointDirectoryAt(Segment* segment) {
  const SpinGuard guard(AsAuthors() || Has(Bug::kDirectoryUnlocked) ? nullptr : LockOf(&Locks::directory));
  const Identity identity = segment->Which();
  const uint32_t below = global_depth() - identity.depth;
  uint64_t* first = entries() + (identity.pattern << below);
  const uint64_t count = uint64_t{1} << below;
  if (count > 1) pmem::mark("directory.range");
  for (uint64_t i = 0; i < count; ++i) pmem::atomic_store(first + i, OffsetOf(segment));
  pmem::persist(first, count * sizeof *first);
}

}  // namespace powercut::dash

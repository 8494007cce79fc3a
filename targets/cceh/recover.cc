// Format and open. Open is the recovery: every step may be repeated without effect, so a cut inside open only repeats
// the steps. Open reads the directory and one line a segment, no items.
#include <new>

#include "targets/cceh/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cceh {

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  const uint64_t capacity = uint64_t{1} << options.depth, bytes = Directory::Bytes(capacity);
  if (pool.size < sizeof(Root) + 4 * kUnit) return POWERCUT_FULL;
  Table table(pool, options);
  // The pool is zeroed, as the traits demand: no reserved key is present, and the allocator is empty.
  table.allocator_.Format();
  const uint64_t offset = table.allocator_.Allocate(bytes);
  if (offset == 0) return POWERCUT_FULL;
  auto* directory = reinterpret_cast<Directory*>(pool.base + offset);
  directory->depth = options.depth;
  directory->capacity = capacity;
  for (uint64_t i = 0; i < capacity; ++i) {
    const Segment* segment = table.NewSegment(nullptr, {options.depth, i}, !table.Has(Bug::kFormatSegmentsUnflushed));
    if (segment == nullptr) return POWERCUT_FULL;
    directory->entries()[i] = table.OffsetOf(segment);
  }
  if (!table.Has(Bug::kFormatDirectoryUnflushed)) pmem::flush(directory, sizeof *directory);
  if (!table.Has(Bug::kFormatEntriesUnflushed)) pmem::flush(directory->entries(), capacity * sizeof(uint64_t));
  pmem::fence();
  Root* root = table.root();
  root->directory = offset;
  root->slots = options.slots;
  pmem::atomic_store(&root->magic, kMagic);
  pmem::persist(root, pmem::kLine);
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < sizeof(Root) + 4 * kUnit) return POWERCUT_NOT_FORMATTED;
  Table opening(pool, options);
  if (opening.root()->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (opening.root()->slots != options.slots || !opening.allocator_.Matches()) return POWERCUT_CORRUPT;
  if (!opening.RollBack()) return POWERCUT_CORRUPT;
  powercut_status status = opening.Attach();
  if (status == POWERCUT_OK) status = opening.Reconcile();
  if (status != POWERCUT_OK) return status;
  // The directory is durable and names whole segments only, whose slots point to whole items: whatever nothing names
  // belongs to nobody.
  if (!opening.Has(Bug::kLeakSegment) &&
      !opening.allocator_.Sweep([&](uint64_t offset) { return opening.Reaches(offset); })) {
    return POWERCUT_CORRUPT;
  }
  *out = new (std::nothrow) Table(opening);
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

powercut_status Table::Attach() {
  const uint64_t offset = root()->directory;
  if (!allocator_.Contains(offset, sizeof(Directory)) || offset % kUnit != 0) return POWERCUT_CORRUPT;
  directory_ = reinterpret_cast<Directory*>(pool_.base + offset);
  depth_ = directory_->depth;
  if (AsAuthors()) pmem::atomic_store(&directory_->lock, uint64_t{0});
  if (depth_ > kMaxDepth || directory_->capacity != uint64_t{1} << depth_) return POWERCUT_CORRUPT;
  return allocator_.Contains(offset, Directory::Bytes(directory_->capacity)) ? POWERCUT_OK : POWERCUT_CORRUPT;
}

// Goes through the directory from left to right. A segment of local depth L stands in 2^(G-L) entries; where some
// of these name another one, a split was cut: they are set to the leftmost again.
powercut_status Table::Reconcile() {
  const uint64_t capacity = directory_->capacity;
  uint64_t* entries = directory_->entries();
  for (uint64_t i = 0; i < capacity;) {
    const uint64_t offset = entries[i];
    if (!allocator_.Contains(offset, Segment::Bytes(options_.slots)) || offset % kUnit != 0) return POWERCUT_CORRUPT;
    Segment* segment = SegmentAt(offset);
    // No lock survives a crash; the store need not be durable, since the next open makes it again.
    SKIP_IF (Bug::kLockNotReset) pmem::atomic_store(&segment->lock, int64_t{0});
    const Meta meta = Meta::Decode(pmem::atomic_load(&segment->meta));
    if (meta.depth > depth_ || meta.pattern << (depth_ - meta.depth) != i) return POWERCUT_CORRUPT;
    const uint64_t end = i + (uint64_t{1} << (depth_ - meta.depth));
    if (Has(Bug::kRecoveryOmitted) || AsPorted() || (Has(Bug::kRecoveryLastSegment) && end == capacity)) {
      for (++i; i < end && entries[i] == offset;) ++i;
      continue;
    }
    uint64_t low = end, high = i;
    for (uint64_t j = end; --j > i;) {
      if (entries[j] == offset) continue;
      pmem::atomic_store(&entries[j], offset);
      high = std::max(high, j);
      low = j;
    }
    if (low <= high) {
      pmem::mark("recover.split");
      pmem::persist(&entries[low], (high - low + 1) * sizeof *entries);
    }
    i = end;
  }
  return POWERCUT_OK;
}

}  // namespace powercut::cceh

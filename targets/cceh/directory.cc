// The directory: an array of 2^depth entries, indexed by the leading bits of the hash, so that the entries that
// name one segment lie side by side.
#include "targets/cceh/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cceh {

// A block is a segment of the table exactly if the directory entry for the block's pattern names the block. The
// contents of an unreached block are never trusted.
bool Table::ReachesSegment(uint64_t offset) const {
  if (offset == root()->directory) return true;
  const Meta meta = Meta::Decode(SegmentAt(offset)->meta);
  if (meta.depth > depth_ || meta.pattern >> meta.depth != 0) return false;
  return directory_->entries()[meta.pattern << (depth_ - meta.depth)] == offset;
}

Directory* Table::NewDirectory() {
  const uint64_t offset = Allocate(Directory::Bytes(2 * Current()->capacity));
  return offset == 0 ? nullptr : reinterpret_cast<Directory*>(pool_.base + offset);
}

// Every entry becomes two equal ones, but for the segment that splits. One store replaces the directory, and with
// it depth and capacity.
void Table::Double(Directory* bigger, uint64_t entry, const Segment* left, const Segment* right) {
  Directory* replaced = Current();
  const uint64_t depth = Depth(), capacity = replaced->capacity, bytes = Directory::Bytes(2 * capacity);
  bigger->depth = Has(Bug::kDoublingDepthApart) ? depth : depth + 1;
  bigger->capacity = 2 * capacity;
  if (AsAuthors()) bigger->lock = 0;
  for (uint64_t i = 0; i < capacity; ++i) {
    const uint64_t named = replaced->entries()[i];
    bigger->entries()[2 * i] = i == entry ? OffsetOf(left) : named;
    bigger->entries()[2 * i + 1] = i == entry ? OffsetOf(right) : named;
  }
  SKIP_IF (Bug::kDoublingUnflushed) pmem::persist(bigger, bytes);
  const uint64_t old = OffsetOf(replaced);
  DO_IF (Bug::kDoublingFreesFirst) Free(old);
  pmem::atomic_store(&root()->directory, OffsetOf(bigger));
  pmem::persist(&root()->directory, sizeof root()->directory);
  pmem::mark("double.published");
  DO_IF (Bug::kDoublingDepthApart) pmem::atomic_store(&bigger->depth, depth + 1);
  DO_IF (Bug::kDoublingDepthApart) pmem::persist(&bigger->depth, sizeof bigger->depth);
  SKIP_IF (Bug::kDoublingFreesFirst) Free(old);
  directory_ = bigger;
  depth_ = depth + 1;
}

void Table::Point(uint64_t first, uint64_t count, const Segment* segment) {
  uint64_t* entries = Current()->entries() + first;
  for (uint64_t i = count; i-- > 0;) pmem::atomic_store(&entries[i], OffsetOf(segment));
  pmem::persist(entries, count * sizeof *entries);
}

}  // namespace powercut::cceh

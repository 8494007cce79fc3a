// The structural invariants that hold after every recovery.
#include "targets/cceh/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::cceh {
namespace {

using Number = unsigned long long;

}  // namespace

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  const uint64_t* entries = directory_->entries();
  const uint64_t capacity = directory_->capacity;
  if (region == 0) {
    if (OffsetOf(directory_) != root()->directory) return Broken(message, size, "the root names another directory");
    if (directory_->depth != depth_ || capacity != uint64_t{1} << depth_) {
      return Broken(message, size, "the directory has %llu entries and global depth %llu", Number{capacity},
                    Number{directory_->depth});
    }
    uint64_t named = 1, allocated = 0;
    for (uint64_t i = 1; i < capacity; ++i) named += entries[i] != entries[i - 1] ? 1 : 0;
    bool directory_allocated = false;
    allocator_.ForEach([&](uint64_t offset, uint64_t bytes) {
      if (offset == root()->directory) {
        directory_allocated = bytes >= Directory::Bytes(capacity);
      } else if (bytes >= Segment::Bytes(options_.slots) && ReachesSegment(offset)) {
        ++allocated;
      }
    });
    if (!directory_allocated) return Broken(message, size, "the directory lies in no block of its own");
    if (named != allocated) {
      return Broken(message, size, "the directory names %llu segments, %llu of them lie in blocks of their own",
                    Number{named}, Number{allocated});
    }
    return POWERCUT_OK;
  }
  const uint64_t entry = (region - 1) / RegionsOfSegment(), part = (region - 1) % RegionsOfSegment();
  if (entry != 0 && entries[entry - 1] == entries[entry]) return POWERCUT_OK;
  const Segment* segment = SegmentOf(entry);
  const Meta meta = Meta::Decode(segment->meta);
  if (part == 0) {
    if (meta.depth > depth_) {
      return Broken(message, size, "entry %llu: local depth %u, global depth %llu", Number{entry}, meta.depth,
                    Number{depth_});
    }
    const uint64_t count = uint64_t{1} << (depth_ - meta.depth);
    if (meta.pattern * count != entry) {
      return Broken(message, size, "entry %llu begins a segment of depth %u with pattern %llu", Number{entry},
                    meta.depth, Number{meta.pattern});
    }
    uint64_t named = 1;
    while (entry + named < capacity && entries[entry + named] == entries[entry]) ++named;
    if (named != count) {
      return Broken(message, size, "entry %llu: %llu entries name a segment of depth %u, not %llu", Number{entry},
                    Number{named}, meta.depth, Number{count});
    }
  }
  const uint64_t end = std::min<uint64_t>((part + 1) * kRegionSlots, options_.slots);
  for (uint64_t i = part * kRegionSlots; i < end; ++i) {
    const uint64_t key = segment->slots()[i].key;
    if (key == kSentinel) {
      return Broken(message, size, "entry %llu: slot %llu is claimed for ever", Number{entry}, Number{i});
    }
    if (key == kInvalid) continue;
    const uint64_t hash = HashOfWord(key);
    if (!meta.Covers(hash)) {
      if (options_.cow) return Broken(message, size, "entry %llu: slot %llu has a stale key", Number{entry}, Number{i});
      continue;
    }
    if (!IsInReach(i, hash)) {
      return Broken(message, size, "entry %llu: the key in slot %llu is out of the reach of its home bucket",
                    Number{entry}, Number{i});
    }
    if (!HasPointers()) continue;
    const uint64_t item = segment->slots()[i].value;
    if (!HoldsItem(item)) {
      return Broken(message, size, "entry %llu: slot %llu points to offset %llu, where no item lies", Number{entry},
                    Number{i}, Number{item});
    }
    if (HashOf(ItemAt(item)->key()) != hash) {
      return Broken(message, size, "entry %llu: slot %llu points to an item of another key", Number{entry}, Number{i});
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::cceh

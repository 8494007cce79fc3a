// The structural invariants that hold after every recovery.
#include "targets/cmap/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::cmap {

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  if (region == 0) {
    if (root()->log_count != 0) {
      return Broken(message, size, "the log is still valid after recovery");
    }
    uint64_t nodes = 0, blocks = 0, allocated = 0;
    for (uint64_t index = 0; index <= mask_; ++index) {
      for (uint64_t at = BucketAt(index)->head; at != 0; at = NodeAt(at)->next) ++nodes;
    }
    for (uint32_t k = 1; mask_ >> k != 0; ++k) blocks += BeginsBlock(k) ? 1 : 0;
    allocator_.ForEach([&](uint64_t offset, uint64_t) { allocated += Reaches(offset) ? 1 : 0; });
    if (allocated != nodes + blocks) {
      return Broken(message, size, "the table consists of %llu blocks, of which %llu are allocated",
                    number(nodes + blocks), number(allocated));
    }
    if (items_ != nodes) {
      return Broken(message, size, "the table has %llu items and says %llu", number(nodes), number(items_));
    }
    return POWERCUT_OK;
  }
  const uint64_t index = region - 1;
  const Bucket* bucket = BucketAt(index);
  if (bucket->rehashed > 1 || (index < kEmbedded && bucket->rehashed == 0)) {
    return Broken(message, size, "bucket %llu: the rehash flag is %llu", number(index), number(bucket->rehashed));
  }
  for (uint64_t at = bucket->head; at != 0; at = NodeAt(at)->next) {
    const Node& node = *NodeAt(at);
    if (!options_.Takes(node.key_size, node.value_size)) {
      return Broken(message, size, "bucket %llu holds an item of other sizes than the table takes", number(index));
    }
    const uint64_t holder = Holder(Hash(KeyOf(at)));
    if (holder != index) {
      return Broken(message, size, "bucket %llu holds an item of bucket %llu", number(index), number(holder));
    }
    for (uint64_t other = bucket->head; other != at; other = NodeAt(other)->next) {
      if (KeyOf(other) == KeyOf(at)) {
        return Broken(message, size, "bucket %llu holds an item twice", number(index));
      }
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::cmap

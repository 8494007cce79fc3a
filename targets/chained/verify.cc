// The blocks that the table owns, and the structural invariants that hold after every recovery.
#include "targets/chained/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::chained {

bool Table::Reaches(uint64_t offset) const {
  if (offset == root()->heads) return true;
  for (uint64_t b = 0; b < buckets(); ++b) {
    for (uint64_t at = Heads()[b]; at != 0; at = NodeAt(at)->next) {
      if (at == offset) return true;
    }
  }
  return false;
}

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  if (region != 0) {
    for (uint64_t at = Heads()[region - 1]; at != 0; at = NodeAt(at)->next) {
      if (Head(NodeAt(at)->item.key()) == &Heads()[region - 1]) continue;
      return Broken(message, size, "bucket %llu: an item of another bucket is in its chain", number(region - 1));
    }
    return POWERCUT_OK;
  }
  uint64_t items = 0, blocks = 0;
  for (uint64_t b = 0; b < buckets(); ++b) {
    for (uint64_t at = Heads()[b]; at != 0; at = NodeAt(at)->next) ++items;
  }
  if (items != root()->count) {
    return Broken(message, size, "the count is %llu, and the chains hold %llu items", number(root()->count),
                  number(items));
  }
  allocator_.ForEach([&](uint64_t offset, uint64_t) { blocks += Reaches(offset) ? 1 : 0; });
  if (blocks != 1 + items) {
    return Broken(message, size, "the table consists of %llu blocks, of which %llu are allocated", number(1 + items),
                  number(blocks));
  }
  return POWERCUT_OK;
}

}  // namespace powercut::chained

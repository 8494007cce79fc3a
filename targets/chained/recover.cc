// Format and open. Open is the recovery: it counts the items, and frees what no chain reaches. Both steps may be
// repeated without effect, so a cut inside recovery only repeats them.
#include <algorithm>
#include <new>
#include <vector>

#include "targets/chained/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::chained {
namespace {

constexpr uint64_t kMagic = 0x31444e4843435750;  // "PWCCHND1"

}  // namespace

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  Table table(pool, options);
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: every head is durably 0.
  const uint64_t heads = table.allocator_.Allocate(HeadBytes(options.buckets));
  if (heads == 0) return POWERCUT_FULL;
  SetWord(table.WordAt(heads), options.buckets);
  SetWord(&table.root()->heads, heads);
  SetWord(&table.root()->magic, kMagic);
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  Table table(pool, options);
  if (table.root()->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (!table.allocator_.Matches()) return POWERCUT_CORRUPT;
  const powercut_status status = table.Recover();
  if (status != POWERCUT_OK) return status;
  *out = new (std::nothrow) Table(table);
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

powercut_status Table::Recover() try {
  const uint64_t heads = root()->heads;
  if (!allocator_.Contains(heads, sizeof(uint64_t)) || buckets() == 0 || buckets() > pool_.size / sizeof(uint64_t) ||
      !allocator_.Contains(heads, HeadBytes(buckets()))) {
    return POWERCUT_CORRUPT;
  }
  std::vector<uint64_t> nodes;
  for (uint64_t b = 0; b < buckets(); ++b) {
    for (uint64_t at = Heads()[b]; at != 0; at = NodeAt(at)->next) {
      // More nodes than lines: the chain is a ring.
      if (!IsNode(at) || nodes.size() > pool_.size / pmem::kLine) return POWERCUT_CORRUPT;
      nodes.push_back(at);
    }
  }
  SKIP_IF (Bug::kCountTrusted) {
    if (root()->count != nodes.size()) SetCount(nodes.size());
  }
  DO_IF (Bug::kLeakUnreached) return POWERCUT_OK;
  std::sort(nodes.begin(), nodes.end());
  const bool sound = allocator_.Sweep(
      [&](uint64_t offset) { return offset == heads || std::binary_search(nodes.begin(), nodes.end(), offset); });
  return sound ? POWERCUT_OK : POWERCUT_CORRUPT;
} catch (const std::bad_alloc&) {
  return POWERCUT_FULL;
}

bool Table::IsNode(uint64_t offset) const {
  if (offset % pmem::kLine != 0 || !allocator_.Contains(offset, sizeof(Node))) return false;
  const Node* node = NodeAt(offset);
  return options_.Takes(node->item.key_size, node->item.value_size) && allocator_.Contains(offset, node->size());
}

}  // namespace powercut::chained

// Format and open (runtime_initialize). Open rolls back the transaction that was cut, restores the number of buckets
// and frees what nobody reaches; buckets that are not rehashed stay so.
#include <algorithm>
#include <new>

#include "targets/cmap/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cmap {

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  Table table(pool, options);
  if (pool.size < sizeof(Root) + 2 * pmem::kLine) return POWERCUT_FULL;
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: no segment, no item, no log.
  Root* root = table.root();
  for (Bucket& bucket : root->embedded) bucket.rehashed = 1;
  pmem::persist(root->embedded, sizeof root->embedded);
  root->geometry = table.Geometry();
  root->mask = kEmbedded - 1;
  pmem::atomic_store(&root->magic, kMagic);
  pmem::persist(root, pmem::kLine);
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < sizeof(Root) + 2 * pmem::kLine) return POWERCUT_NOT_FORMATTED;
  Table opening(pool, options);
  if (opening.root()->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (opening.root()->geometry != opening.Geometry() || !opening.allocator_.Matches()) return POWERCUT_CORRUPT;
  for (const auto step : {&Table::RollBack, &Table::Attach, &Table::Sweep}) {
    const powercut_status status = (opening.*step)();
    if (status != POWERCUT_OK) return status;
  }
  *out = new (std::nothrow) Table(opening);
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

// Twice is once: the words are durable before the log is cleared.
powercut_status Table::RollBack() {
  const uint64_t count = root()->log_count;
  if (count == 0 || Has(Bug::kLogNotReplayed)) return POWERCUT_OK;
  pmem::mark("recover.log");
  const uint64_t block = root()->log_block;
  const LogEntry* entries = root()->log;
  if (block != 0) {
    if (!allocator_.Contains(block, 0) || !allocator_.Contains(block, count * sizeof(LogEntry))) {
      return POWERCUT_CORRUPT;
    }
    entries = reinterpret_cast<const LogEntry*>(pool_.base + block);
  } else if (count > kInlineLog) {
    return POWERCUT_CORRUPT;
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (entries[i].offset % sizeof(uint64_t) != 0 || entries[i].offset >= pool_.size) return POWERCUT_CORRUPT;
    pmem::atomic_store(WordAt(entries[i].offset), entries[i].before);
    pmem::flush_line(WordAt(entries[i].offset));
  }
  pmem::fence();
  pmem::atomic_store(&root()->log_count, uint64_t{0});
  pmem::persist(&root()->log_count, sizeof(uint64_t));
  return POWERCUT_OK;
}

// calculate_mask.
powercut_status Table::Attach() {
  uint32_t k = 1;
  for (; k < kMaxSegments; ++k) {
    const uint64_t offset = root()->segment[k];
    if (Has(Bug::kBucketCountUnordered) ? root()->mask < (uint64_t{1} << k) : offset == 0) break;
    if (offset % sizeof(Bucket) != 0 || !allocator_.Contains(offset, sizeof(Bucket) << k)) return POWERCUT_CORRUPT;
  }
  mask_ = (uint64_t{1} << k) - 1;
  return POWERCUT_OK;
}

// Walks all chains for what is reached, which counts the items as well, and frees the locks that a cut left held.
powercut_status Table::Sweep() try {
  std::vector<uint64_t> reached;
  for (uint32_t k = 1; mask_ >> k != 0; ++k) {
    if (BeginsBlock(k)) reached.push_back(root()->segment[k]);
  }
  const size_t segments = reached.size();
  const bool resets_locks = options_.concurrent && !Has(Bug::kLocksNotReset);
  for (uint64_t index = 0; index <= mask_; ++index) {
    if (resets_locks) pmem::atomic_store(&BucketAt(index)->lock, kFree);
    for (uint64_t at = BucketAt(index)->head; at != 0; at = NodeAt(at)->next) {
      if (!IsNode(at) || reached.size() > pool_.size / pmem::kLine) return POWERCUT_CORRUPT;
      if (resets_locks) pmem::atomic_store(NodeLock(at), kFree);
      reached.push_back(at);
    }
  }
  items_ = options_.logged_size ? root()->items : reached.size() - segments;
  DO_IF (Bug::kNoSweep) return POWERCUT_OK;
  std::sort(reached.begin(), reached.end());
  const bool sound =
      allocator_.Sweep([&](uint64_t offset) { return std::binary_search(reached.begin(), reached.end(), offset); });
  return sound ? POWERCUT_OK : POWERCUT_CORRUPT;
} catch (const std::bad_alloc&) {
  return POWERCUT_FULL;
}

// A node is reached where its own key would be looked for.
bool Table::Reaches(uint64_t offset) const {
  for (uint32_t k = 1; mask_ >> k != 0; ++k) {
    if (BeginsBlock(k) && root()->segment[k] == offset) return true;
  }
  if (!IsNode(offset)) return false;
  uint64_t at = BucketAt(Holder(Hash(KeyOf(offset))))->head;
  while (at != 0 && at != offset) at = NodeAt(at)->next;
  return at != 0;
}

}  // namespace powercut::cmap

// Rehashing: what follows a predetermined failure. The paper names the operation and its cost (1, 2.1) and leaves the
// rest to cuckoo hashing: all items go into a new directory, with more buckets or other hash functions. The new
// directory is planned in DRAM, written once, and published by one store; until then its block is unreached.
#include <new>

#include "targets/common/planted_bugs.h"
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {
namespace {

constexpr uint32_t kTriesASize = 4;  // pairs of hash functions before the directory is doubled once more

}  // namespace

struct Table::Plan {
  Directory directory;
  Forest forest;
  std::unique_ptr<uint32_t[]> source;  // bucket of the old directory, plus one; 0: vacant
};

// `source` is the item's bucket in the old directory; the end of its stash stands for the extra item.
bool Table::PlanItem(Plan* plan, uint32_t source, const uint8_t* key) {
  const Positions at = plan->directory.Of(key, geometry_.key_size);
  const Forecast forecast = plan->forest.Predetermine(at.first, at.second);
  if (forecast.fails()) return false;
  plan->forest.Link(at.first, at.second);
  uint32_t carried = source + 1;
  uint32_t b = forecast.start, backup = at.Other(b);
  while (carried != 0) {
    std::swap(carried, plan->source[b]);
    const uint32_t next = plan->forest.Backup(b);
    plan->forest.SetBackup(b, backup);
    backup = b;
    b = next;
  }
  return true;
}

// Precondition: the plan has memory. False: the items do not fit into these positions.
bool Table::MakePlan(const Directory& next, const Item* extra, Plan* plan) {
  plan->directory = next;
  for (uint32_t b = 0; b < Places(directory_); ++b) {
    if (!geometry_.Occupied(Bucket(b))) continue;
    // If there are two copies, the copy of the first table goes along.
    if (options_.hardened && b >= directory_.buckets() / 2 && FindDuplicate(b) != Forest::kNone) {
      pmem::mark("rehash.duplicate");
      continue;
    }
    if (!PlanItem(plan, b, geometry_.Key(Bucket(b)))) return false;
  }
  return extra == nullptr || PlanItem(plan, Places(directory_), geometry_.Key(extra->bytes));
}

powercut_status Table::Rehash(uint32_t log2, const Item* extra) {
  pmem::mark("rehash");
  Plan plan;
  Directory next{.offset = 0, .seed = directory_.seed, .log2 = log2};
  if (log2 == directory_.log2) next.seed = (next.seed + 1) & 0xffff;
  for (uint32_t tries = 1;; ++tries) {
    if (next.log2 > kMaxLog2 || Bytes(next) > pool_.size) return POWERCUT_FULL;
    plan.source.reset(new (std::nothrow) uint32_t[next.buckets()]());
    if (plan.source == nullptr || !plan.forest.Allocate(next.buckets())) return POWERCUT_FULL;
    if (MakePlan(next, extra, &plan)) break;
    pmem::mark("rehash.again");
    next.seed = (next.seed + 1) & 0xffff;
    if (tries % kTriesASize == 0) ++next.log2;
  }

  const uint64_t bytes = Bytes(next);
  plan.directory.offset = allocator_.Allocate(bytes);
  if (plan.directory.offset == 0) return POWERCUT_FULL;
  uint8_t* base = pool_.base + plan.directory.offset;
  std::memset(base, 0, bytes);  // the block may have been a directory before
  for (uint32_t b = 0; b < next.buckets(); ++b) {
    if (plan.source[b] == 0) continue;
    const uint32_t source = plan.source[b] - 1;
    uint8_t* bucket = base + uint64_t{b} * geometry_.stride;
    std::memcpy(bucket, source == Places(directory_) ? extra->bytes : Bucket(source), geometry_.token_at);
    bucket[geometry_.token_at] = 1;
  }
  const uint64_t old = directory_.offset;
  SKIP_IF (Bug::kResizeEarly) pmem::persist(base, bytes);
  DO_IF (Bug::kFreeEarly) allocator_.Free(old);
  DO_IF (Bug::kStashClearFirst) ClearStash();
  pmem::mark("rehash.written");
  pmem::atomic_store(&root()->directory, plan.directory.Word());
  pmem::persist(&root()->directory, sizeof root()->directory);
  DO_IF (Bug::kResizeEarly) pmem::persist(base, bytes);
  directory_ = plan.directory;
  forest_ = std::move(plan.forest);
  pmem::mark("rehash.published");
  SKIP_IF (Bug::kFreeEarly) allocator_.Free(old);
  return POWERCUT_OK;
}

powercut_status Table::Maintain(const char* command) {
  if (std::strcmp(command, "expand") == 0) return Rehash(directory_.log2 + 1, nullptr);
  if (std::strcmp(command, "rehash") == 0) return Rehash(directory_.log2, nullptr);
  return POWERCUT_UNSUPPORTED;
}

}  // namespace powercut::smartcuckoo

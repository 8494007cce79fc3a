// Resizing: ht_status decides, ht_resize_pes copies every item into a new table and publishes it by one store,
// clht_gc_collect frees the tables that were replaced.
#include <bit>
#include <cstring>

#include "targets/pclht/table.h"

namespace powercut::pclht {
namespace {

// Constants of clht_lb_res.h.
constexpr uint64_t kPercentFullDouble = 50;
constexpr uint64_t kPercentFullHalve = 5;
constexpr uint64_t kOccupancyAfterResize = 40;  // percent
constexpr uint64_t kRatioHalve = 8;
constexpr uint64_t kMaxChain = 24;

}  // namespace

powercut_status Table::Maintain(const char* command) {
  const uint64_t buckets = Current()->buckets;
  if (std::strcmp(command, "status") == 0) return Status(/*increase=*/false);
  if (std::strcmp(command, "expand") == 0) return Resize(buckets * 2);
  if (std::strcmp(command, "shrink") == 0) {
    return buckets < kRatioHalve ? POWERCUT_UNSUPPORTED : Resize(buckets / kRatioHalve);
  }
  return POWERCUT_UNSUPPORTED;
}

// Empty, and not yet flushed: its first item comes with it. 0: the pool is full.
uint64_t Table::CreateBucket(HashTable* table) {
  const uint64_t offset = allocator_.Allocate(sizeof(Bucket));
  if (offset == 0) return 0;
  std::memset(BucketAt(offset), 0, sizeof(Bucket));
  ++table->expansions;
  return offset;
}

// Not flushed: the caller fills it first. 0: the pool is full.
uint64_t Table::CreateTable(uint64_t buckets) {
  const uint64_t offset = allocator_.Allocate(sizeof(HashTable));
  if (offset == 0) return 0;
  const uint64_t first = allocator_.Allocate(buckets * sizeof(Bucket));
  if (first == 0) {
    allocator_.Free(offset);
    return 0;
  }
  std::memset(BucketAt(first), 0, buckets * sizeof(Bucket));
  *TableAt(offset) = HashTable{.buckets = buckets,
                               .table = first,
                               .mask = buckets - 1,
                               .version = 0,
                               .previous = 0,
                               .next_version = 0,
                               .expansions = 0,
                               .expansions_limit = options_.expansions * buckets};
  return offset;
}

// clht_put_seq: into a table that nobody sees yet, so in any order and without a flush.
bool Table::PutUnordered(HashTable* table, uint64_t key, uint64_t value) {
  for (Bucket* bucket = First(*table, key & table->mask);; bucket = BucketAt(bucket->next)) {
    for (uint32_t i = 0; i < kEntries; ++i) {
      if (bucket->key[i] != 0) continue;
      bucket->value[i] = value;
      bucket->key[i] = key;
      return true;
    }
    if (bucket->next != 0) continue;
    const uint64_t offset = CreateBucket(table);
    if (offset == 0) return false;
    bucket->next = offset;
  }
}

// bucket_cpy.
bool Table::CopyBucket(Bucket* bucket, HashTable* to) {
  pmem::atomic_store(&bucket->lock, kLockResize);
  for (; bucket != nullptr; bucket = Next(*bucket)) {
    for (uint32_t i = 0; i < kEntries; ++i) {
      if (bucket->key[i] != 0 && !PutUnordered(to, bucket->key[i], bucket->value[i])) return false;
    }
  }
  return true;
}

// clflush_new_hashtable. One fence makes all of it durable.
void Table::FlushTable(const HashTable& table) const {
  pmem::flush(&table, sizeof table);
  if (!Has(Bug::kResizeTableUnflushed)) pmem::flush(First(table, 0), table.buckets * sizeof(Bucket));
  if (!Has(Bug::kResizeChainUnflushed)) {
    for (uint64_t bin = 0; bin < table.buckets; ++bin) {
      for (const Bucket* b = Next(*First(table, bin)); b != nullptr; b = Next(*b)) pmem::flush(b, sizeof *b);
    }
  }
  pmem::fence();
}

void Table::PublishTable(uint64_t offset) {
  if (Has(Bug::kRootSwapUnflushed)) return pmem::atomic_store(&root()->table, offset);
  pmem::nt_store(&root()->table, offset);
  pmem::fence();
}

powercut_status Table::Resize(uint64_t buckets) {
  const uint64_t old_offset = root()->table;
  HashTable* old = TableAt(old_offset);
  const uint64_t offset = CreateTable(buckets);
  if (offset == 0) return POWERCUT_FULL;
  pmem::mark(buckets > old->buckets ? "resize.grow" : "resize.shrink");
  root()->resize_lock = 1;
  HashTable* fresh = TableAt(offset);
  fresh->version = old->version + 1;
  for (uint64_t bin = 0; bin < old->buckets; ++bin) {
    if (CopyBucket(First(*old, bin), fresh)) continue;
    pmem::mark("resize.full");
    FreeTable(offset);
    for (uint64_t locked = 0; locked <= bin; ++locked) Unlock(First(*old, locked));
    root()->resize_lock = 0;
    return POWERCUT_FULL;
  }
  fresh->previous = old_offset;
  if (Has(Bug::kPublishFirst)) PublishTable(offset);
  FlushTable(*fresh);
  pmem::mark("resize.copied");
  if (Has(Bug::kFreeBeforePublish)) FreeTable(old_offset);
  if (!Has(Bug::kPublishFirst)) PublishTable(offset);
  if (Has(Bug::kFreeBeforePublish)) {
    root()->oldest = offset;
    root()->version_min = fresh->version;
  } else {
    old->next_version = offset;
  }
  root()->resize_lock = 0;
  pmem::mark("resize.published");
  CollectOldTables();
  if (fresh->expansions < fresh->expansions_limit || !options_.auto_resize) return POWERCUT_OK;
  pmem::mark("resize.again");
  (void)Status(/*increase=*/true);
  return POWERCUT_OK;
}

// ht_status: counts items and chained buckets, and resizes by what it finds.
powercut_status Table::Status(bool increase) {
  root()->status_lock = 1;
  const HashTable* table = Current();
  uint64_t items = 0, longest = 0;
  for (uint64_t bin = 0; bin < table->buckets; ++bin) {
    uint64_t chained = 0;
    for (const Bucket* bucket = First(*table, bin); bucket != nullptr; bucket = Next(*bucket)) {
      for (uint32_t i = 0; i < kEntries; ++i) items += bucket->key[i] != 0 ? 1 : 0;
      if (bucket->next != 0) ++chained;
    }
    if (chained > longest) longest = chained;
  }
  const uint64_t slots = table->buckets * kEntries;
  powercut_status status = POWERCUT_OK;
  if (items != 0 && 100 * items < kPercentFullHalve * slots) {
    if (table->buckets >= kRatioHalve) status = Resize(table->buckets / kRatioHalve);
  } else if (100 * items > kPercentFullDouble * slots || longest > kMaxChain || increase) {
    const uint64_t factor = std::bit_ceil(100 * items / slots / kOccupancyAfterResize);
    status = Resize(table->buckets * (factor < 2 ? 2 : factor));
  }
  root()->status_lock = 0;
  return status;
}

// clht_gc_collect with one thread: nobody uses a version older than the current one.
void Table::CollectOldTables() {
  const uint64_t version = Current()->version;
  if (root()->version_min >= version) return;
  root()->gc_lock = 1;
  uint64_t offset = root()->oldest;
  while (TableAt(offset)->version < version) {
    const uint64_t next = TableAt(offset)->next_version;
    TableAt(next)->previous = 0;
    FreeTable(offset);
    pmem::mark("collect.freed");
    offset = next;
  }
  root()->version_min = version;
  root()->oldest = offset;
  root()->gc_lock = 0;
}

// clht_gc_free.
void Table::FreeTable(uint64_t offset) {
  const HashTable* table = TableAt(offset);
  for (uint64_t bin = 0; bin < table->buckets; ++bin) {
    for (uint64_t at = First(*table, bin)->next; at != 0;) {
      const uint64_t next = BucketAt(at)->next;
      allocator_.Free(at);
      at = next;
    }
  }
  allocator_.Free(table->table);
  allocator_.Free(offset);
}

}  // namespace powercut::pclht

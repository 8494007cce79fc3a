// Resizing: ht_status decides, ht_resize_pes copies every item into a new table and publishes it by one store,
// clht_gc_collect frees the tables that were replaced.
#include <bit>
#include <cstring>
#include <memory>
#include <new>

#include "targets/common/planted_bugs.h"
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
  Stay stay(threads_.get());
  const uint64_t buckets = TableOf(stay)->buckets;
  if (std::strcmp(command, "status") == 0) return Status(/*increase=*/false, &stay);
  if (std::strcmp(command, "expand") == 0) return Resize(2, 1, &stay);
  if (std::strcmp(command, "shrink") == 0) {
    return buckets < kRatioHalve ? POWERCUT_UNSUPPORTED : Resize(1, kRatioHalve, &stay);
  }
  return POWERCUT_UNSUPPORTED;
}

// The allocator knows of no threads.
uint64_t Table::Allocate(uint64_t bytes) {
  const SpinGuard guard(LockOf(&Threads::allocator_lock));
  return allocator_.Allocate(bytes);
}

void Table::Free(uint64_t offset) {
  const SpinGuard guard(LockOf(&Threads::allocator_lock));
  allocator_.Free(offset);
}

// Empty, and not yet flushed: its first item comes with it. 0: the pool is full.
uint64_t Table::CreateBucket(HashTable* table) {
  const uint64_t offset = Allocate(entries_.bucket_bytes());
  if (offset == 0) return 0;
  std::memset(BucketAt(offset), 0, entries_.bucket_bytes());
  if (options_.concurrent) {
    __atomic_fetch_add(&table->expansions, uint64_t{1}, __ATOMIC_RELAXED);
  } else {
    ++table->expansions;
  }
  return offset;
}

// The table is not flushed, since the caller fills it first. Returns 0 if the pool is full.
uint64_t Table::CreateTable(uint64_t buckets) {
  const uint64_t offset = Allocate(sizeof(HashTable));
  if (offset == 0) return 0;
  const uint64_t first = Allocate(buckets * entries_.bucket_bytes());
  if (first == 0) {
    Free(offset);
    return 0;
  }
  std::memset(BucketAt(first), 0, buckets * entries_.bucket_bytes());
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
bool Table::PutUnordered(HashTable* table, const Item& item) {
  for (Bucket* bucket = First(*table, item.hash & table->mask);; bucket = BucketAt(bucket->next)) {
    for (uint32_t i = 0; i < kEntries; ++i) {
      if (entries_.IsUsed(bucket, i)) continue;
      entries_.Fill(bucket, i, item);
      return true;
    }
    if (bucket->next != 0) continue;
    const uint64_t offset = CreateBucket(table);
    if (offset == 0) return false;
    entries_.Fill(BucketAt(offset), 0, item);
    SKIP_IF (Bug::kResizeChainUnlinked) bucket->next = offset;
    return true;
  }
}

// LOCK_ACQ_RES. False: another thread of this resize has it.
bool Table::LockForCopy(Bucket* home) const {
  if (!options_.concurrent) {
    pmem::atomic_store(&home->lock, kLockResize);
    return true;
  }
  uint8_t seen;
  while ((seen = TryLock(&home->lock, kLockResize)) == kLockUpdate) {
    while (pmem::atomic_load(&home->lock) == kLockUpdate) pmem::pause();
  }
  return seen == kLockFree;
}

// bucket_cpy, of a locked bucket. False: the pool is full.
bool Table::CopyBucket(Bucket* bucket, HashTable* to) {
  for (; bucket != nullptr; bucket = Next(*bucket)) {
    for (uint32_t i = 0; i < kEntries; ++i) {
      if (entries_.IsUsed(bucket, i) && !PutUnordered(to, entries_.ItemAt(bucket, i))) return false;
    }
  }
  return true;
}

// Copies from the first bucket on, until it meets one that the helper has copied. False: the pool is full.
bool Table::CopyTable(HashTable* old, HashTable* to, Version* version) {
  // In a larger table no two buckets have items for the same new one, so that two threads may copy.
  const bool helped = version != nullptr && to->buckets >= old->buckets;
  if (helped) {
    pmem::atomic_store(&version->copy, OffsetOf(to));
    pmem::atomic_store(&version->help, uint8_t{Version::kWanted});
  }
  bool full = false;
  for (uint64_t bin = 0; bin < old->buckets && !full; ++bin) {
    Bucket* home = First(*old, bin);
    if (!LockForCopy(home)) break;
    full = !CopyBucket(home, to);
    DO_IF (Bug::kBucketReleasedEarly) Unlock(home);
  }
  if (helped && !EndHelp(version)) full = true;
  return !full;
}

// ht_resize_help: copies from the last bucket on, if nobody else does.
void Table::Help(Version* version) {
  uint8_t wanted = Version::kWanted;
  if (!__atomic_compare_exchange_n(&version->help, &wanted, uint8_t{Version::kGiven}, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    return;
  }
  const HashTable* old = TableAt(version->table);
  HashTable* to = TableAt(pmem::atomic_load(&version->copy));
  bool full = false;
  for (uint64_t bin = old->buckets; bin-- > 0 && !full;) {
    Bucket* home = First(*old, bin);
    if (!LockForCopy(home)) break;
    full = !CopyBucket(home, to);
  }
  if (full) pmem::atomic_store(&version->full, uint8_t{1});
  pmem::atomic_store(&version->help, uint8_t{Version::kDone});
}

// Nobody may help any more; who does is waited for. False: the helper found the pool full.
bool Table::EndHelp(Version* version) const {
  uint8_t wanted = Version::kWanted;
  if (__atomic_compare_exchange_n(&version->help, &wanted, uint8_t{Version::kNotWanted}, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED)) {
    return true;
  }
  DO_IF (Bug::kHelperNotAwaited) return true;
  while (pmem::atomic_load(&version->help) != Version::kDone) pmem::pause();
  const bool full = pmem::atomic_load(&version->full) != 0;
  pmem::atomic_store(&version->full, uint8_t{0});
  return !full;
}

void Table::FlushChains(const HashTable& table) const {
  for (uint64_t bin = 0; bin < table.buckets; ++bin) {
    for (const Bucket* b = Next(*First(table, bin)); b != nullptr; b = Next(*b)) {
      pmem::flush(b, entries_.bucket_bytes());
    }
  }
}

// clflush_new_hashtable. One fence makes all of it durable.
void Table::FlushTable(const HashTable& table) const {
  pmem::flush(&table, sizeof table);
  SKIP_IF (Bug::kResizeTableUnflushed) pmem::flush(First(table, 0), table.buckets * entries_.bucket_bytes());
  SKIP_IF (Bug::kResizeChainUnflushed) FlushChains(table);
  pmem::fence();
}

void Table::PublishTable(uint64_t offset) {
  DO_IF (Bug::kRootSwapUnflushed) return pmem::atomic_store(&root()->table, offset);
  Commit(&root()->table, offset);
}

// ht_resize_pes: to `times` / `over` of the size. OK, and nothing done, if another thread resizes or has done so since
// the caller looked at the table.
powercut_status Table::Resize(uint64_t times, uint64_t over, Stay* stay) {
  HashTable* old = TableOf(*stay);
  std::unique_ptr<Version> next;
  if (options_.concurrent) {
    next.reset(new (std::nothrow) Version{});
    if (next == nullptr) return POWERCUT_FULL;
    if (!TakeLock(&root()->resize_lock) && !Has(Bug::kResizeLockIgnored)) return POWERCUT_OK;
    // The authors' code goes on with the table that it read before it had the lock. If another resize has replaced this
    // table, all its buckets are locked, as if a helper had copied the buckets. The new table then stays empty.
    if (options_.hardened && !Has(Bug::kResizeTableStale) && threads_->newest() != stay->version()) {
      pmem::atomic_store(&root()->resize_lock, kLockFree);
      return POWERCUT_OK;
    }
  }
  const uint64_t old_offset = OffsetOf(old), buckets = old->buckets * times / over;
  const uint64_t offset = buckets == 0 ? 0 : CreateTable(buckets);
  if (offset == 0) {
    if (options_.concurrent) pmem::atomic_store(&root()->resize_lock, kLockFree);
    return POWERCUT_FULL;
  }
  pmem::mark(buckets > old->buckets ? "resize.grow" : "resize.shrink");
  if (!options_.concurrent) root()->resize_lock = kLockUpdate;
  HashTable* fresh = TableAt(offset);
  fresh->version = old->version + 1;
  if (!CopyTable(old, fresh, stay->version())) {
    pmem::mark("resize.full");
    FreeTable(offset);
    for (uint64_t bin = 0; bin < old->buckets; ++bin) {
      Bucket* home = First(*old, bin);
      if (pmem::atomic_load(&home->lock) == kLockResize) Unlock(home);
    }
    StoreShared(&root()->resize_lock, kLockFree);
    return POWERCUT_FULL;
  }
  fresh->previous = old_offset;
  const bool again = options_.auto_resize && fresh->expansions >= fresh->expansions_limit;
  const auto replace = [&] {
    if (next == nullptr) return;
    next->table = offset;
    threads_->Replace(next.release());
  };
  DO_IF (Bug::kTableVisibleEarly) replace();
  DO_IF (Bug::kPublishFirst) PublishTable(offset);
  FlushTable(*fresh);
  pmem::mark("resize.copied");
  DO_IF (Bug::kFreeBeforePublish) FreeTable(old_offset);
  SKIP_IF (Bug::kPublishFirst) PublishTable(offset);
  replace();  // other threads get the table now that it is durable, with the root that names it
  DO_IF (Bug::kFreeBeforePublish) root()->oldest = offset;
  DO_IF (Bug::kFreeBeforePublish) root()->version_min = fresh->version;
  SKIP_IF (Bug::kFreeBeforePublish) StoreShared(&old->next_version, offset);
  StoreShared(&root()->resize_lock, kLockFree);
  pmem::mark("resize.published");
  stay->Renew();
  if (threads_ == nullptr) {
    CollectOldTables();
  } else {
    CollectUnusedTables();
  }
  if (!again) return POWERCUT_OK;
  pmem::mark("resize.again");
  (void)Status(/*increase=*/true, stay);
  return POWERCUT_OK;
}

// ht_status: counts items and chained buckets, and resizes by these counts.
powercut_status Table::Status(bool increase, Stay* stay) {
  // An insert that reached the limit goes on beside another check; the resize lock keeps them apart.
  const bool locked = TakeLock(&root()->status_lock);
  if (!locked && !increase) return POWERCUT_OK;
  const HashTable* table = TableOf(*stay);
  uint64_t items = 0, longest = 0;
  for (uint64_t bin = 0; bin < table->buckets; ++bin) {
    uint64_t chained = 0;
    for (const Bucket* bucket = First(*table, bin); bucket != nullptr; bucket = Next(*bucket)) {
      for (uint32_t i = 0; i < kEntries; ++i) items += entries_.IsUsed(bucket, i) ? 1 : 0;
      if (pmem::atomic_load(&bucket->next) != 0) ++chained;
    }
    if (chained > longest) longest = chained;
  }
  const uint64_t slots = table->buckets * kEntries;
  powercut_status status = POWERCUT_OK;
  if (items != 0 && 100 * items < kPercentFullHalve * slots) {
    if (table->buckets >= kRatioHalve) status = Resize(1, kRatioHalve, stay);
  } else if (100 * items > kPercentFullDouble * slots || longest > kMaxChain || increase) {
    const uint64_t factor = std::bit_ceil(100 * items / slots / kOccupancyAfterResize);
    status = Resize(factor < 2 ? 2 : factor, 1, stay);
  }
  // The authors' code gives it back whoever took it.
  if (locked || !options_.hardened) StoreShared(&root()->status_lock, kLockFree);
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

// clht_gc_collect beside other threads: frees tables from the oldest on, up to the first table that operations are in.
// The next resize or the next open frees the remaining old tables.
void Table::CollectUnusedTables() {
  if (!TakeLock(&root()->gc_lock)) return;
  Version* version = threads_->oldest;
  while (version != threads_->newest()) {
    if (Threads::Used(*version) && !Has(Bug::kFreedInUse)) break;
    FreeTable(version->table);
    pmem::mark("collect.freed");
    version = pmem::atomic_load(&version->next);
  }
  threads_->oldest = version;
  root()->version_min = TableAt(version->table)->version;
  root()->oldest = version->table;
  pmem::atomic_store(&root()->gc_lock, kLockFree);
}

// clht_gc_free.
void Table::FreeTable(uint64_t offset) {
  const HashTable* table = TableAt(offset);
  for (uint64_t bin = 0; bin < table->buckets; ++bin) {
    for (uint64_t at = First(*table, bin)->next; at != 0;) {
      const uint64_t next = BucketAt(at)->next;
      Free(at);
      at = next;
    }
  }
  Free(table->table);
  Free(offset);
}

}  // namespace powercut::pclht

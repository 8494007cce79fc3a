// Format and open (clht_create, clht_lock_initialization). Nothing is ever half done: whatever the root's table
// pointer names is a whole table. Open only clears the state of the threads of the cut run, and frees unreached blocks.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>
#include <utility>

#include "targets/common/planted_bugs.h"
#include "targets/pclht/table.h"

namespace powercut::pclht {

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  Table table(pool, options);
  table.allocator_.Format();
  const uint64_t offset = table.CreateTable(options.buckets);
  if (offset == 0) return POWERCUT_FULL;
  Root* root = table.root();
  root->oldest = offset;
  const HashTable* first = table.TableAt(offset);
  // The authors' code stores the pointer first; the line may reach memory before what it names does. The ports create
  // the table in a transaction.
  const bool root_first = !options.hardened && options.items == Items::kWords;
  if (root_first) {
    pmem::atomic_store(&root->table, offset);
    pmem::atomic_store(&root->magic, kMagic);
  }
  if (table.Has(Bug::kHashTableUnflushed)) {
    pmem::persist(table.First(*first, 0), first->buckets * table.entries_.bucket_bytes());
  } else {
    table.FlushTable(*first);
  }
  if (!root_first) {
    // One line, so the pointer is there whenever the magic number is.
    pmem::atomic_store(&root->table, offset);
    pmem::atomic_store(&root->magic, kMagic);
  }
  if (!table.Has(Bug::kRootUnflushed)) pmem::persist(root, offsetof(Root, zero_present));
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < sizeof(Root) + 2 * pmem::kLine) return POWERCUT_NOT_FORMATTED;
  Table opening(pool, options);
  if (opening.root()->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (!opening.allocator_.Matches()) return POWERCUT_CORRUPT;
  const powercut_status attached = opening.Attach();
  if (attached != POWERCUT_OK) return attached;
  const powercut_status recovered = opening.Recover();
  if (recovered != POWERCUT_OK) return recovered;
  if (options.concurrent) {
    opening.threads_.reset(Threads::Make(opening.root()->table));
    if (opening.threads_ == nullptr) return POWERCUT_FULL;
  }
  *out = new (std::nothrow) Table(std::move(opening));
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

powercut_status Table::Attach() {
  const uint64_t offset = root()->table;
  if (offset % pmem::kLine != 0 || !allocator_.Contains(offset, sizeof(HashTable))) return POWERCUT_CORRUPT;
  const HashTable* table = TableAt(offset);
  if (!std::has_single_bit(table->buckets) || table->mask != table->buckets - 1) return POWERCUT_CORRUPT;
  if (table->buckets > pool_.size / sizeof(Bucket) || table->table % pmem::kLine != 0 ||
      !allocator_.Contains(table->table, table->buckets * entries_.bucket_bytes())) {
    return POWERCUT_CORRUPT;
  }
  return POWERCUT_OK;
}

// Every step writes what it would write the second time.
powercut_status Table::Recover() {
  Root* root = this->root();
  root->resize_lock = root->gc_lock = root->status_lock = 0;
  DO_IF (Bug::kOldestNotPersisted) CollectOldTables();
  std::vector<uint64_t> reached;
  uint64_t chained = 0;
  const powercut_status read = ReadChains(&reached, &chained);
  if (read != POWERCUT_OK) return read;
  HashTable* table = Current();
  root->oldest = root->table;
  root->version_min = table->version;
  if (options_.hardened) table->expansions = chained;
  DO_IF (Bug::kNoSweep) return POWERCUT_OK;
  std::sort(reached.begin(), reached.end());
  const bool sound = allocator_.Sweep([&](uint64_t offset) {
    return offset == root->table || offset == table->table ||
           std::binary_search(reached.begin(), reached.end(), offset);
  });
  return sound ? POWERCUT_OK : POWERCUT_CORRUPT;
}

// The offsets of all chained buckets, and of all items outside of the table; frees the locks on the way
// (clht_lock_initialization).
powercut_status Table::ReadChains(std::vector<uint64_t>* reached, uint64_t* chained) try {
  const HashTable* table = Current();
  const bool reset = options_.hardened && !Has(Bug::kLocksNotReset);
  const uint64_t most = pool_.size / sizeof(Bucket);
  for (uint64_t bin = 0; bin < table->buckets; ++bin) {
    Bucket* bucket = First(*table, bin);
    // Written and not looked at: what a cut has left in the locks of all buckets is no case for recovery to tell apart.
    if (reset) bucket->lock = kLockFree;
    for (;; bucket = BucketAt(bucket->next)) {
      if (!ReadItems(*bucket, reached)) return POWERCUT_CORRUPT;
      if (bucket->next == 0) break;
      if (!IsBucket(bucket->next) || *chained >= most) return POWERCUT_CORRUPT;
      reached->push_back(bucket->next);
      ++*chained;
    }
  }
  return POWERCUT_OK;
} catch (const std::bad_alloc&) {
  return POWERCUT_FULL;
}

// False: a pointer names no item. Where nothing is swept, the pointers are not looked at.
bool Table::ReadItems(const Bucket& bucket, std::vector<uint64_t>* reached) const {
  if (!entries_.has_pointers() || Has(Bug::kNoSweep)) return true;
  for (const uint64_t offset : bucket.key) {
    if (offset == 0) continue;
    if (!IsItem(offset)) return false;
    reached->push_back(offset);
  }
  return true;
}

bool Table::Reaches(uint64_t offset) const {
  const HashTable* table = Current();
  if (offset == root()->table || offset == table->table) return true;
  for (uint64_t bin = 0; bin < table->buckets; ++bin) {
    for (const Bucket* bucket = First(*table, bin); bucket != nullptr; bucket = Next(*bucket)) {
      if (bucket->next == offset) return true;
      for (uint32_t i = 0; i < kEntries && entries_.has_pointers(); ++i) {
        if (bucket->key[i] == offset) return true;
      }
    }
  }
  return false;
}

}  // namespace powercut::pclht

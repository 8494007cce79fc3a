// P-CLHT: the cache-line hash table (David, Guerraoui, Trigonakis, ASPLOS 2015) made persistent by RECIPE (Lee et al.,
// SOSP 2019). README.md maps functions to those of the authors' code, and has the protocol of its threads.
//
// The handle is volatile: everything that is the table's lies in the pool.
#ifndef POWERCUT_TARGETS_PCLHT_TABLE_H_
#define POWERCUT_TARGETS_PCLHT_TABLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "targets/common/pool_allocator.h"
#include "targets/common/scheme_table.h"
#include "targets/pclht/entries.h"
#include "targets/pclht/layout.h"
#include "targets/pclht/options.h"
#include "targets/pclht/threads.h"

namespace powercut::pclht {

class Table {
 public:
  static constexpr ItemSizes kSizes = {.most_key = 1024, .most_value = 65536};  // with items=pointers
  POWERCUT_MIXED_SCHEME_TABLE(pclht::Options);                                  // items.cc, search.cc
  powercut_status Maintain(const char* command);                                // resize.cc
  void Draw(Drawing* to) const;                                                 // draw.cc

  // Regions: 0 is the root with the item of key 0, then every bucket of the current table with its chain.
  uint64_t regions() const { return 1 + Current()->buckets; }
  PoolAllocator& allocator() { return allocator_; }
  bool Reaches(uint64_t offset) const;
  // Sizes of the current table, for the fidelity program.
  uint64_t buckets() const { return Current()->buckets; }
  uint64_t expansions() const { return Current()->expansions; }

  template <typename Visit>
  void ForEachCopy(Bytes key, Visit visit) const {
    const Item wanted = entries_.ItemOf(key);
    if (entries_.IsZero(wanted)) return WalkZero(visit);
    for (const Bucket* bucket = Home(wanted.hash); bucket != nullptr; bucket = Next(*bucket)) {
      for (uint32_t i = 0; i < kEntries; ++i) {
        if (entries_.Look(bucket, i, wanted) != Entries::Seen::kKey) continue;
        const Entries::View item = entries_.ViewAt(bucket, i);
        if (visit(item.key, item.value)) return;
      }
    }
  }

  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    if (region == 0) return WalkZero(visit);
    for (const Bucket* bucket = First(*Current(), region - 1); bucket != nullptr; bucket = Next(*bucket)) {
      for (uint32_t i = 0; i < kEntries; ++i) {
        if (!entries_.IsUsed(bucket, i)) continue;
        const Entries::View item = entries_.ViewAt(bucket, i);
        if (visit(item.key, item.value)) return;
      }
    }
  }

 private:
  Table(powercut_pool pool, const Options& options)
      : pool_(pool),
        options_(options),
        allocator_(pool, {.begin = sizeof(Root), .unit = pmem::kLine}),
        entries_(pool, options) {}

  bool Has(Bug bug) const { return options_.bug == bug || (!options_.hardened && IsMeasured(bug)); }
  // Whether `published` has the bug: the ports have some that the code for words has not.
  bool IsMeasured(Bug bug) const {
    if (entries_.is_wide()) return bug == Bug::kValueInPlace;
    return entries_.has_pointers() && (bug == Bug::kEraseFreesFirst || bug == Bug::kNoSweep);
  }

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  HashTable* TableAt(uint64_t offset) const { return reinterpret_cast<HashTable*>(pool_.base + offset); }
  Bucket* BucketAt(uint64_t offset) const { return reinterpret_cast<Bucket*>(pool_.base + offset); }
  uint64_t OffsetOf(const HashTable* table) const {
    return static_cast<uint64_t>(reinterpret_cast<const uint8_t*>(table) - pool_.base);
  }
  HashTable* Current() const { return TableAt(pmem::atomic_load(&root()->table)); }
  Bucket* First(const HashTable& table, uint64_t bin) const {
    return BucketAt(table.table + bin * entries_.bucket_bytes());
  }
  // clht_hash: the low bits.
  Bucket* Home(uint64_t hash) const { return First(*Current(), hash & Current()->mask); }
  Bucket* Next(const Bucket& bucket) const {
    const uint64_t next = pmem::atomic_load(&bucket.next);
    return next == 0 ? nullptr : BucketAt(next);
  }

  template <typename Visit>
  void WalkZero(Visit visit) const {
    if (root()->zero_present != 0) visit(ZeroKey(), ZeroValue());
  }
  Bytes ZeroKey() const {
    static constexpr uint8_t kZeroes[kMostInline] = {};
    return {kZeroes, options_.key_size};
  }
  Bytes ZeroValue() const { return {reinterpret_cast<const uint8_t*>(root()->zero_value), options_.value_size}; }

  // A word that another thread may read or write at the same time, if there is one.
  template <typename Word>
  void StoreShared(Word* word, Word value) const {
    if (options_.concurrent) {
      pmem::atomic_store(word, value);
    } else {
      *word = value;
    }
  }
  // TRYLOCK_ACQ, of the root's locks. With one thread the function only notes that the lock is held.
  bool TakeLock(uint8_t* lock) const {
    if (options_.concurrent) return TryLock(lock, kLockUpdate) == kLockFree;
    *lock = kLockUpdate;
    return true;
  }
  // The lock of what threads share in the handle; null: one thread.
  uint8_t* LockOf(uint8_t Threads::* lock) const { return threads_ == nullptr ? nullptr : &(threads_.get()->*lock); }

  // The table that an operation works in.
  HashTable* TableOf(const Stay& stay) const {
    return AsAuthors(Bug::kTableReadEarly) ? Current() : TableAt(stay.version()->table);
  }
  // The authors' code takes the table from the root, and looks for a key before it locks (CLHT_READ_ONLY_FAIL).
  // `hardened` with one thread does the same; with threads only a search under the lock counts.
  bool AsAuthors(Bug bug) const { return !options_.concurrent || !options_.hardened || Has(bug); }
  bool LooksUnderLock(Bug bug) const { return options_.concurrent && !Has(bug); }

  Bucket* HomeIn(const Stay& stay, uint64_t hash) const {
    if (!options_.concurrent) return Home(hash);
    const HashTable* table = TableOf(stay);
    return First(*table, hash & table->mask);
  }

  // search.cc
  Entry Find(const Item& key, Bucket* home) const;
  bool Snapshot(const Item& key, Bucket* home, ValueRoom* value) const;
  bool DurableSnapshot(const Item& key, Stay* stay, ValueRoom* value) const;
  bool HasChanged(bool found, uint64_t before, uint64_t after, const Stay& stay) const;
  void PersistChain(const Bucket* home, const Bucket* last) const;

  // items.cc
  Bucket* LockHome(uint64_t hash, Stay* stay);
  Entry LockEntry(const Item& key, Stay* stay, Bucket** home);
  void AwaitResize(const HashTable& table, const Bucket& home, Stay* stay);
  static void Unlock(Bucket* home) { pmem::atomic_store(&home->lock, kLockFree); }
  void UnlockChanged(Bucket* home) const;
  void Commit(uint64_t* word, uint64_t value) const;
  // The bug kUnlockBeforeFlush: the bucket is free before the word is durable.
  powercut_status CommitUnlocked(Bucket* home, uint64_t* word, uint64_t value) const;
  void CommitKey(const Entry& entry, const Item& item);
  bool Chain(HashTable* table, Bucket* last, const Item& item);
  powercut_status InsertZero(const Item& item);
  powercut_status UpdateZero(const Item& item);
  powercut_status EraseZero();

  // inline_items.cc
  void StoreRoom(WideBucket* bucket, uint32_t room, const Words& value) const;
  void CommitKeyInline(const Entry& entry, const Item& item);
  void UpdateInline(const Entry& entry, const Item& item);

  // pointer_items.cc
  bool MakeItem(Item* item, Bytes value);
  void FreeItem(uint64_t offset) {
    if (offset != 0) Free(offset);
  }
  powercut_status UpdatePointer(Bucket* home, const Entry& entry, Item* item, Bytes value);
  bool OverwriteItem(uint64_t offset, Bytes value) const;
  bool IsItem(uint64_t offset) const;

  // resize.cc
  uint64_t Allocate(uint64_t bytes);
  void Free(uint64_t offset);
  uint64_t CreateBucket(HashTable* table);
  uint64_t CreateTable(uint64_t buckets);
  bool PutUnordered(HashTable* table, const Item& item);
  bool LockForCopy(Bucket* home) const;
  bool CopyBucket(Bucket* bucket, HashTable* to);
  bool CopyTable(HashTable* old, HashTable* to, Version* version);
  void Help(Version* version);
  bool EndHelp(Version* version) const;
  void FlushTable(const HashTable& table) const;
  void FlushChains(const HashTable& table) const;
  void PublishTable(uint64_t offset);
  powercut_status Resize(uint64_t times, uint64_t over, Stay* stay);
  powercut_status Status(bool increase, Stay* stay);
  void CollectOldTables();
  void CollectUnusedTables();
  void FreeTable(uint64_t offset);

  // verify.cc
  powercut_status VerifyBlocks(char* message, size_t size);
  bool HasRoom(const WideBucket& bucket, uint32_t i) const;

  // recover.cc
  powercut_status Attach();
  powercut_status Recover();
  bool IsBucket(uint64_t offset) const {
    return offset % pmem::kLine == 0 && allocator_.Contains(offset, entries_.bucket_bytes());
  }
  powercut_status ReadChains(std::vector<uint64_t>* reached, uint64_t* chained);
  bool ReadItems(const Bucket& bucket, std::vector<uint64_t>* reached) const;

  powercut_pool pool_;
  Options options_;
  PoolAllocator allocator_;
  Entries entries_;
  std::unique_ptr<Threads> threads_;  // null: one thread
};

}  // namespace powercut::pclht
#endif  // POWERCUT_TARGETS_PCLHT_TABLE_H_

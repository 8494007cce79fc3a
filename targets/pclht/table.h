// P-CLHT: the cache-line hash table (David, Guerraoui, Trigonakis, ASPLOS 2015) made persistent by RECIPE (Lee et al.,
// SOSP 2019). README.md maps functions to those of the authors' code, and has the protocol of its threads.
//
// The handle is volatile: everything that is the table's lies in the pool.
#ifndef POWERCUT_TARGETS_PCLHT_TABLE_H_
#define POWERCUT_TARGETS_PCLHT_TABLE_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "targets/common/pool_allocator.h"
#include "targets/common/scheme_table.h"
#include "targets/pclht/layout.h"
#include "targets/pclht/options.h"
#include "targets/pclht/threads.h"

namespace powercut::pclht {

class Table {
 public:
  POWERCUT_SCHEME_TABLE(pclht::Options);          // items.cc, search.cc
  powercut_status Maintain(const char* command);  // resize.cc
  void Draw(Drawing* to) const;                   // draw.cc

  // Regions: 0 is the root with the item of key 0, then every bucket of the current table with its chain.
  uint64_t regions() const { return 1 + Current()->buckets; }
  PoolAllocator& allocator() { return allocator_; }
  bool Reaches(uint64_t offset) const;
  // Sizes of the current table, for the fidelity program.
  uint64_t buckets() const { return Current()->buckets; }
  uint64_t expansions() const { return Current()->expansions; }

  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) const {
    const uint64_t wanted = Word(key);
    if (wanted == 0) return WalkZero(visit);
    for (const Bucket* bucket = Home(wanted); bucket != nullptr; bucket = Next(*bucket)) {
      for (uint32_t i = 0; i < kEntries; ++i) {
        if (bucket->key[i] == wanted && visit(Bytes(bucket->key[i]), Bytes(bucket->value[i]))) return;
      }
    }
  }

  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    if (region == 0) return WalkZero(visit);
    for (const Bucket* bucket = First(*Current(), region - 1); bucket != nullptr; bucket = Next(*bucket)) {
      for (uint32_t i = 0; i < kEntries; ++i) {
        if (bucket->key[i] != 0 && visit(Bytes(bucket->key[i]), Bytes(bucket->value[i]))) return;
      }
    }
  }

 private:
  struct Entry {
    Bucket* bucket = nullptr;
    uint32_t index = 0;
    bool found() const { return bucket != nullptr; }
    uint64_t* key() const { return &bucket->key[index]; }
    uint64_t* value() const { return &bucket->value[index]; }
  };

  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), allocator_(pool, {.begin = sizeof(Root), .unit = pmem::kLine}) {}

  static uint64_t Word(const uint8_t* bytes) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
  }
  static const uint8_t* Bytes(const uint64_t& word) { return reinterpret_cast<const uint8_t*>(&word); }
  bool Has(Bug bug) const { return options_.bug == bug; }

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  HashTable* TableAt(uint64_t offset) const { return reinterpret_cast<HashTable*>(pool_.base + offset); }
  Bucket* BucketAt(uint64_t offset) const { return reinterpret_cast<Bucket*>(pool_.base + offset); }
  uint64_t OffsetOf(const HashTable* table) const {
    return static_cast<uint64_t>(reinterpret_cast<const uint8_t*>(table) - pool_.base);
  }
  HashTable* Current() const { return TableAt(pmem::atomic_load(&root()->table)); }
  Bucket* First(const HashTable& table, uint64_t bin) const { return BucketAt(table.table) + bin; }
  // clht_hash: the key's low bits.
  Bucket* Home(uint64_t key) const { return First(*Current(), key & Current()->mask); }
  Bucket* Next(const Bucket& bucket) const {
    const uint64_t next = pmem::atomic_load(&bucket.next);
    return next == 0 ? nullptr : BucketAt(next);
  }

  template <typename Visit>
  void WalkZero(Visit visit) const {
    static constexpr uint64_t kZero = 0;
    if (root()->zero_present != 0) visit(Bytes(kZero), Bytes(root()->zero_value));
  }

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

  Bucket* HomeIn(const Stay& stay, uint64_t key) const {
    if (!options_.concurrent) return Home(key);
    const HashTable* table = TableOf(stay);
    return First(*table, key & table->mask);
  }

  // search.cc
  Entry Find(uint64_t key, Bucket* home) const;
  bool Snapshot(uint64_t key, Bucket* home, uint64_t* value) const;
  bool DurableSnapshot(uint64_t key, Bucket* home, uint64_t* value) const;
  void PersistChain(const Bucket* home, const Bucket* last) const;

  // items.cc
  Bucket* LockHome(uint64_t key, Stay* stay);
  Entry LockEntry(uint64_t key, Stay* stay, Bucket** home);
  void AwaitResize(const HashTable& table, const Bucket& home, Stay* stay);
  static void Unlock(Bucket* home) { pmem::atomic_store(&home->lock, kLockFree); }
  void UnlockErased(Bucket* home) const;
  void Commit(uint64_t* word, uint64_t value) const;
  // The bug kUnlockBeforeFlush: the bucket is free before the word is durable.
  powercut_status CommitUnlocked(Bucket* home, uint64_t* word, uint64_t value) const;
  void CommitKey(const Entry& entry, uint64_t key, uint64_t value);
  bool Chain(HashTable* table, Bucket* last, uint64_t key, uint64_t value);
  powercut_status InsertZero(uint64_t value);

  // resize.cc
  uint64_t Allocate(uint64_t bytes);
  void Free(uint64_t offset);
  uint64_t CreateBucket(HashTable* table);
  uint64_t CreateTable(uint64_t buckets);
  bool PutUnordered(HashTable* table, uint64_t key, uint64_t value);
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

  // recover.cc
  powercut_status Attach();
  powercut_status Recover();
  bool IsBucket(uint64_t offset) const {
    return offset % pmem::kLine == 0 && allocator_.Contains(offset, sizeof(Bucket));
  }
  powercut_status ReadChains(std::vector<uint64_t>* chained);

  powercut_pool pool_;
  Options options_;
  PoolAllocator allocator_;
  std::unique_ptr<Threads> threads_;  // null: one thread
};

}  // namespace powercut::pclht
#endif  // POWERCUT_TARGETS_PCLHT_TABLE_H_

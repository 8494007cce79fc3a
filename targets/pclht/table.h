// P-CLHT: the cache-line hash table (David, Guerraoui, Trigonakis, ASPLOS 2015) made persistent by RECIPE (Lee et al.,
// SOSP 2019), one thread. README.md maps functions to those of the authors' code.
//
// The handle is volatile: everything that is the table's lies in the pool.
#ifndef POWERCUT_TARGETS_PCLHT_TABLE_H_
#define POWERCUT_TARGETS_PCLHT_TABLE_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "powercut/target.h"
#include "targets/common/pool_allocator.h"
#include "targets/pclht/layout.h"
#include "targets/pclht/options.h"

namespace powercut {
class Drawing;
}

namespace powercut::pclht {

class Table {
 public:
  using Options = pclht::Options;
  static powercut_status ParseOptions(const powercut_config& config, Options* out);      // target.cc
  static void Traits(const Options& options, powercut_traits* out);                      // target.cc
  static powercut_status Format(powercut_pool pool, const Options& options);             // recover.cc
  static powercut_status Open(powercut_pool pool, const Options& options, Table** out);  // recover.cc
  const Options& options() const { return options_; }

  powercut_status Insert(const uint8_t* key, const uint8_t* value);  // items.cc, and the next three
  powercut_status Update(const uint8_t* key, const uint8_t* value);
  powercut_status Erase(const uint8_t* key);
  powercut_status Lookup(const uint8_t* key, uint8_t* value) const;
  powercut_status Maintain(const char* command);                        // resize.cc
  powercut_status Verify(uint64_t region, char* message, size_t size);  // verify.cc
  void Draw(Drawing* to) const;                                         // draw.cc

  // Regions: 0 is the root with the item of key 0, then every bucket of the current table with its chain.
  uint64_t regions() const { return 1 + Current()->buckets; }
  PoolAllocator& allocator() { return allocator_; }
  bool Reaches(uint64_t offset) const;
  // Of the current table, for the fidelity program.
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
  HashTable* Current() const { return TableAt(pmem::atomic_load(&root()->table)); }
  Bucket* First(const HashTable& table, uint64_t bin) const { return BucketAt(table.table) + bin; }
  // clht_hash: the key's low bits.
  Bucket* Home(uint64_t key) const { return First(*Current(), key & Current()->mask); }
  Bucket* Next(const Bucket& bucket) const { return bucket.next == 0 ? nullptr : BucketAt(bucket.next); }

  template <typename Visit>
  void WalkZero(Visit visit) const {
    static constexpr uint64_t kZero = 0;
    if (root()->zero_present != 0) visit(Bytes(kZero), Bytes(root()->zero_value));
  }

  // items.cc
  Entry Find(uint64_t key) const;
  Bucket* LockHome(uint64_t key);
  static void Unlock(Bucket* home) { pmem::atomic_store(&home->lock, kLockFree); }
  void CommitKey(const Entry& entry, uint64_t key, uint64_t value);
  bool Chain(Bucket* last, uint64_t key, uint64_t value);
  powercut_status InsertZero(uint64_t value);

  // resize.cc
  uint64_t CreateBucket(HashTable* table);
  uint64_t CreateTable(uint64_t buckets);
  bool PutUnordered(HashTable* table, uint64_t key, uint64_t value);
  bool CopyBucket(Bucket* bucket, HashTable* to);
  void FlushTable(const HashTable& table) const;
  void PublishTable(uint64_t offset);
  powercut_status Resize(uint64_t buckets);
  powercut_status Status(bool increase);
  void CollectOldTables();
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
};

}  // namespace powercut::pclht
#endif  // POWERCUT_TARGETS_PCLHT_TABLE_H_

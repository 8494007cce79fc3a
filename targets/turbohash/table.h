// TurboHash (Zhao, Zhong, Jiang: "TurboHash: A Hash Table for Key-value Store on Persistent Memory", SYSTOR 2023).
// README.md maps functions to sections of the paper.
//
// The handle is volatile: everything in it is rebuilt by Open.
#ifndef POWERCUT_TARGETS_TURBOHASH_TABLE_H_
#define POWERCUT_TARGETS_TURBOHASH_TABLE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "targets/common/pool_allocator.h"
#include "targets/common/scheme_table.h"
#include "targets/turbohash/hashes.h"
#include "targets/turbohash/items.h"
#include "targets/turbohash/lanes.h"
#include "targets/turbohash/layout.h"
#include "targets/turbohash/locks.h"
#include "targets/turbohash/options.h"

namespace powercut::turbohash {

// A shard in the DRAM mirror of the directory: the paper's 8-byte ShardMeta (3.7).
class Shard {
 public:
  Shard() = default;
  Shard(uint64_t block, uint64_t log2) : word_(block | log2) {}
  uint64_t block() const { return word_ & ~uint64_t{0xff}; }  // pool offset; blocks begin on 256 bytes
  uint64_t log2() const { return word_ & 0xff; }
  uint64_t buckets() const { return uint64_t{1} << log2(); }

  // Load and store of the mirror's entry beside other threads.
  Shard Load() const { return Shard(__atomic_load_n(&word_, __ATOMIC_ACQUIRE)); }
  void Store(Shard to) { __atomic_store_n(&word_, to.word_, __ATOMIC_RELEASE); }

 private:
  explicit Shard(uint64_t word) : word_(word) {}

  uint64_t word_ = 0;
};

// Where a key belongs.
struct Home {
  uint64_t hash = 0;
  uint64_t word = 0;  // what the key of its slot equals: the key, in pointer mode the hash
  uint64_t shard = 0;
  uint8_t tag = 0;
};

// The result of a search (3.4).
struct Path {
  Bucket* found = nullptr;  // holds the key in `slot`
  uint32_t slot = 0;
  Bucket* deleted = nullptr;  // the first bucket with a deleted slot; with deleted=last, the last one
  Bucket* end = nullptr;      // the bucket that ends the path; null when the scope ends it
  uint32_t distance = 0;      // buckets visited
};

class Table {
 public:
  static constexpr ItemSizes kSizes = {.most_key = 255, .most_value = 65535};
  POWERCUT_MIXED_SCHEME_TABLE(turbohash::Options);  // insert.cc, erase.cc, search.cc
  powercut_status Maintain(const char* command);    // resize.cc
  void Draw(Drawing* to) const;                     // draw.cc

  Path Find(const Home& home, Bytes key) const;  // search.cc
  Home HomeOf(Bytes key) const;
  const Shard& shard(uint64_t index) const { return shards_[index]; }
  Bucket* BucketAt(const Shard& shard, uint64_t index) const {
    return reinterpret_cast<Bucket*>(pool_.base + shard.block()) + index;
  }

  // Regions: 0 is root and directory; then bucket b of shard s is 1 + b * shards + s, so that a shard which grows
  // renumbers no other shard's buckets.
  uint64_t regions() const;
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    const Bucket* bucket = RegionBucket(region);
    if (bucket == nullptr) return;
    for (uint32_t rest = MetaOf(bucket).live(); rest != 0; rest &= rest - 1) {
      const Slot& slot = bucket->slots[std::countr_zero(rest)];
      if (visit(KeyOf(slot), ValueOf(slot))) return;
    }
  }
  // Along the search path, and in the bucket where it was found beyond the slot that search takes. Verify checks that
  // no item lies beyond the end of its path.
  template <typename Visit>
  void ForEachCopy(Bytes key, Visit visit) const {
    const Home home = HomeOf(key);
    const Shard shard = shards_[home.shard];
    for (uint64_t d = 0; d < Scope(shard); ++d) {
      const Bucket* bucket = Probed(shard, home, d);
      const Meta meta = MetaOf(bucket);
      for (uint32_t rest = Matches(bucket, meta, home); rest != 0; rest &= rest - 1) {
        const Slot& slot = bucket->slots[std::countr_zero(rest)];
        if (Holds(slot, home, key) && visit(KeyOf(slot), ValueOf(slot))) return;
      }
      if (meta.ends_path()) return;
    }
  }

  // The allocated blocks of the pool: shards, and in pointer mode cells.
  struct Blocks {
    Table* table;
    template <typename Visit>
    bool ForEach(Visit visit) const {
      const bool sound = !table->options_.pointer || table->items_.ForEach(visit);
      return table->allocator_.ForEach(visit) && sound;
    }
  };
  Blocks allocator() { return {this}; }
  bool Reaches(uint64_t offset) const;  // recover.cc

 private:
  // `home` lies on the stack of the thread that opens the table.
  Table(powercut_pool pool, const Options& options, const void* home);

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  // The first lane's log lies in the root, those of the other lanes behind the root.
  LaneLog* LogOf(uint64_t lane) const {
    return lane == 0 ? &root()->lane : reinterpret_cast<LaneLog*>(pool_.base + sizeof(Root)) + (lane - 1);
  }
  uint64_t directory_begin() const { return sizeof(Root) + (lanes_.count() - 1) * sizeof(LaneLog); }
  Descriptor* directory() const { return reinterpret_cast<Descriptor*>(pool_.base + directory_begin()); }
  uint64_t OffsetOf(const void* at) const {
    return static_cast<uint64_t>(static_cast<const uint8_t*>(at) - pool_.base);
  }
  bool Has(Bug bug) const { return options_.bug == bug; }

  // Synchronisation of concurrent mode; in other modes the lock is null.
  LockWord* LockOf(uint64_t shard) const { return gates_ == nullptr ? nullptr : &gates_[shard].writer; }
  // A lane for a write that needs one.
  LaneHold HoldLane(bool needed = true) { return {&lanes_, needed && gates_ != nullptr}; }

  // garbage.cc. Unlink comes when no new reader of the shard can reach the memory; Reclaim frees it then, or later.
  uint32_t Unlink(uint64_t shard);
  void Reclaim(LaneHold* lane, const Garbage& garbage);
  void Collect(LaneHold* lane, bool waits);
  void Free(LaneHold* lane, const Garbage& garbage);
  bool IsGarbage(uint64_t offset) const;
  void DrawLog(const Lane& lane, Drawing* to) const;  // draw.cc
  bool IsShard(uint64_t block) const;                 // recover.cc
  bool IsCell(uint64_t offset) const { return offset >= item_begin_; }

  // search.cc and its inlined parts.
  static Meta MetaOf(const Bucket* bucket) { return Meta::Decode(pmem::atomic_load(&bucket->meta)); }
  uint64_t Scope(const Shard& shard) const { return std::min<uint64_t>(options_.scope, shard.buckets()); }
  // The d-th bucket of the probing scope; a scope that runs over the shard's end goes on at its beginning.
  Bucket* Probed(const Shard& shard, const Home& home, uint64_t d) const {
    return BucketAt(shard, (hashes_.BucketOf(home.hash, shard.log2()) + d) & (shard.buckets() - 1));
  }
  uint32_t Matches(const Bucket* bucket, Meta meta, const Home& home) const {
    return MatchTags(options_.tags, bucket->tags, home.tag) & meta.live();
  }
  Bytes KeyOf(const Slot& slot) const {
    return options_.pointer ? KeyIn(slot.value) : Bytes{reinterpret_cast<const uint8_t*>(&slot.key), options_.key_size};
  }
  Bytes ValueOf(const Slot& slot) const {
    return options_.pointer ? ValueIn(slot.value)
                            : Bytes{reinterpret_cast<const uint8_t*>(&slot.value), options_.value_size};
  }
  bool Holds(const Slot& slot, const Home& home, Bytes key) const {
    return slot.key == home.word && (!options_.pointer || KeyIn(slot.value) == key);
  }
  uint64_t HashOf(const Slot& slot) const {
    if (options_.pointer) return slot.key;
    return hashes_.Of(reinterpret_cast<const uint8_t*>(&slot.key), options_.key_size);
  }

  // read.cc
  powercut_status LookupBesideWriters(Bytes key, ValueRoom* value);
  powercut_status LookupInEpoch(const Home& home, Bytes key, ValueRoom* value);
  // Whether the bucket holds the key; its slot's value, and whether the search path ends here.
  bool ReadBucket(const Bucket* bucket, const Home& home, Bytes key, uint64_t* value, bool* ends) const;
  static void LoadTags(const Bucket* bucket, uint64_t* tags);
  bool CellHolds(uint64_t cell, Bytes key) const;
  void CopyWords(uint64_t from, size_t size, uint8_t* to) const;

  // insert.cc
  powercut_status Put(Bytes key, Bytes value, bool may_insert);
  static constexpr uint32_t kNoSlot = kSlots;
  powercut_status Write(const Home& home, Bucket* bucket, uint32_t slot, uint32_t old_slot, Bytes key, Bytes value);
  void AddSlot(const LaneHold& lane, Bucket* bucket, uint32_t slot);
  void PersistSlot(const Bucket* bucket, uint32_t slot) const;
  static void Commit(Bucket* bucket, Meta meta);

  // items.cc and its inlined parts. A cell begins with an ItemHeader, a word that is read and written at once. Sizes
  // that a bug or a damaged pool made are cut off at the end of the pool.
  uint64_t* HeaderWord(uint64_t cell) const { return reinterpret_cast<uint64_t*>(pool_.base + cell); }
  ItemHeader HeaderOf(uint64_t cell) const { return std::bit_cast<ItemHeader>(pmem::atomic_load(HeaderWord(cell))); }
  Bytes BytesAt(uint64_t offset, uint32_t size) const {
    return {pool_.base + offset, static_cast<uint32_t>(std::min<uint64_t>(size, pool_.size - offset))};
  }
  Bytes KeyIn(uint64_t cell) const { return BytesAt(cell + sizeof(ItemHeader), HeaderOf(cell).key_size); }
  Bytes ValueIn(uint64_t cell) const {
    return BytesAt(cell + sizeof(ItemHeader) + KeyIn(cell).size, HeaderOf(cell).value_size);
  }
  uint64_t PickCell(LaneHold* lane, uint64_t bytes);
  uint64_t PickFree(LaneHold* lane, uint64_t bytes);
  void EndLog(const LaneHold& lane);
  uint64_t PickInChunk(LaneHold* lane, uint64_t bytes);  // chunks.cc
  uint64_t Carve(LaneHold* lane);
  void FillCell(uint64_t cell, Bytes key, Bytes value);
  void StoreSizes(uint64_t cell, ItemHeader sizes) {
    pmem::atomic_store(HeaderWord(cell), std::bit_cast<uint64_t>(sizes));
  }
  void PersistSizes(uint64_t cell, ItemHeader sizes);  // for bugs
  void FlushCell(uint64_t cell, uint64_t stale) const;
  bool ShortenInPlace(uint64_t cell, Bytes value);  // the bug kItemShortenedInPlace
  void LogItems(const LaneHold& lane, const Slot* slot, uint64_t fresh, uint64_t stale);
  void ClearItemLog(const LaneHold& lane);
  bool ReplayItemLog(const ItemLog& log);

  // transaction.cc. With transactions=off they do nothing.
  void TxAdd(const LaneHold& lane, uint64_t* word);
  void TxBegin(const LaneHold& lane, uint64_t fresh);
  void TxCommit(const LaneHold& lane, uint64_t owed);
  bool RollBack(LaneLog* lane);

  // resize.cc
  // Precondition of both: `lock` holds the shard.
  powercut_status MakeRoom(uint64_t index, WriteLock* lock);
  powercut_status Rebuild(uint64_t index, uint64_t log2, WriteLock* lock);
  uint64_t AllocateBlock(LaneHold* lane, uint64_t bytes);
  bool Relocate(const Shard& from, Bucket* to, uint64_t log2) const;
  void Switch(const LaneHold& lane, uint64_t index, const Shard& to);
  void SwitchSets(Descriptor* descriptor, const Shard& to);
  void ClearOldSet(Descriptor* descriptor, uint64_t block);
  void SwitchInPlace(Descriptor* descriptor, const Shard& to);  // the bug kSetInPlace

  // recover.cc
  powercut_status Attach();
  // The directory's entry of the shard with that block: its index + 1, or 0. May be out of date: compare.
  uint32_t& ShardOfBlock(uint64_t block) const { return shard_of_unit_[(block - allocator_.first()) / unit_]; }

  Bucket* RegionBucket(uint64_t region) const;

  powercut_pool pool_;
  Options options_;
  Hashes hashes_;
  uint64_t unit_ = 0;        // bytes of a shard when it is formatted; each shard is a multiple
  uint64_t item_begin_ = 0;  // where cells begin; inline: the end of the pool
  PoolAllocator allocator_;
  ItemHeap items_;
  std::unique_ptr<Shard[]> shards_;  // the DRAM mirror of the directory
  std::unique_ptr<uint32_t[]> shard_of_unit_;
  std::unique_ptr<ShardGate[]> gates_;  // one a shard; null while one thread uses the table
  Lanes lanes_;
};

}  // namespace powercut::turbohash
#endif  // POWERCUT_TARGETS_TURBOHASH_TABLE_H_

// cmap: the concurrent_hash_map of libpmemobj-cpp, an engine of pmemkv. README.md maps functions to those of its
// source, and has the protocol of its threads.
//
// The handle is volatile: everything in it is rebuilt by Open.
#ifndef POWERCUT_TARGETS_CMAP_TABLE_H_
#define POWERCUT_TARGETS_CMAP_TABLE_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "targets/cmap/layout.h"
#include "targets/cmap/locks.h"
#include "targets/cmap/options.h"
#include "targets/common/hash.h"
#include "targets/common/pool_allocator.h"
#include "targets/common/scheme_table.h"

namespace powercut::cmap {

class Table {
 public:
  // Sizes are 16 and 24 bits of the geometry word.
  static constexpr ItemSizes kSizes = {.most_key = 1024, .most_value = 65536};
  POWERCUT_MIXED_SCHEME_TABLE(cmap::Options);     // items.cc
  powercut_status Maintain(const char* command);  // buckets.cc
  void Draw(Drawing* to) const;                   // draw.cc

  // Regions: 0 is the root, then every bucket.
  uint64_t regions() const { return 1 + mask_ + 1; }
  PoolAllocator& allocator() { return allocator_; }
  bool Reaches(uint64_t offset) const;

  template <typename Visit>
  void ForEachCopy(Bytes key, Visit visit) const {
    for (uint64_t at = BucketAt(Holder(Hash(key)))->head; at != 0; at = NodeAt(at)->next) {
      if (KeyOf(at) == key && visit(KeyOf(at), ValueOf(at))) return;
    }
  }

  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    if (region == 0) return;
    for (uint64_t at = BucketAt(region - 1)->head; at != 0; at = NodeAt(at)->next) {
      if (visit(KeyOf(at), ValueOf(at))) return;
    }
  }

 private:
  friend class BucketLock;

  // Changes words of the pool, all of them or none: an undo log, as of a PMDK transaction. One transaction at a time
  // holds the log, from its construction to its end. transaction.cc
  class Transaction {
   public:
    explicit Transaction(Table* table)
        : guard_(table->Has(Bug::kLogShared) ? nullptr : table->Own(&table->log_lock_)),
          table_(table),
          entries_(table->root()->log) {}
    // Makes room for `words` changes. False: the pool is full.
    bool Reserve(uint64_t words);
    // Precondition: there is room, and the word is not changed yet.
    void Set(uint64_t* word, uint64_t value);
    // The changes are durable at return.
    void Commit();

   private:
    bool Has(Bug bug) const { return table_->Has(bug); }
    void CommitUnlogged();
    void Apply() const;
    void Flush() const;

    const LockGuard guard_;
    Table* table_;
    LogEntry* entries_;
    uint64_t block_ = 0;
    uint64_t count_ = 0;
  };

  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), allocator_(pool, {.begin = sizeof(Root), .unit = pmem::kLine}) {}

  bool Has(Bug bug) const { return options_.bug == bug; }
  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  uint64_t Geometry() const {
    return uint64_t{options_.key_size} | uint64_t{options_.value_size} << 16 | uint64_t{options_.first_block} << 40 |
           uint64_t{options_.concurrent} << 48;
  }
  uint64_t OffsetOf(const void* at) const {
    return static_cast<uint64_t>(static_cast<const uint8_t*>(at) - pool_.base);
  }
  uint64_t* WordAt(uint64_t offset) const { return reinterpret_cast<uint64_t*>(pool_.base + offset); }

  // Nodes.
  static uint64_t WordsOf(uint64_t bytes) { return (bytes + 7) / 8; }
  static uint64_t ValueAt(const Node& node) { return sizeof node + WordsOf(node.key_size) * 8; }
  static uint64_t NodeBytes(const Node& node) { return ValueAt(node) + uint64_t{node.value_words} * 8; }
  uint64_t* NodeLock(uint64_t node) const { return Own(&NodeAt(node)->lock); }
  Node* NodeAt(uint64_t offset) const { return reinterpret_cast<Node*>(pool_.base + offset); }
  Bytes KeyOf(uint64_t node) const { return {pool_.base + node + sizeof(Node), NodeAt(node)->key_size}; }
  uint64_t* ValueWords(uint64_t node) const { return WordAt(node + ValueAt(*NodeAt(node))); }
  Bytes ValueOf(uint64_t node) const {
    return {reinterpret_cast<uint8_t*>(ValueWords(node)), static_cast<uint32_t>(NodeAt(node)->value_size)};
  }
  static uint64_t Hash(Bytes key) { return HashKey(key.data, key.size); }
  // Whether a node can be here, and lies with its key and its value in the pool.
  bool IsNode(uint64_t offset) const {
    if (offset % pmem::kLine != 0 || !allocator_.Contains(offset, sizeof(Node))) return false;
    const Node& node = *NodeAt(offset);
    return allocator_.Contains(offset, NodeBytes(node)) && node.value_size <= uint64_t{node.value_words} * 8;
  }

  // Buckets. Segment 0 has buckets 0 and 1, segment k the ones from 2^k to 2^(k+1) - 1.
  Bucket* BucketAt(uint64_t index) const {
    if (index < kEmbedded) return &root()->embedded[index];
    const auto k = static_cast<uint32_t>(std::bit_width(index) - 1);
    return reinterpret_cast<Bucket*>(pool_.base + root()->segment[k]) + (index - (uint64_t{1} << k));
  }
  static uint64_t Parent(uint64_t index) { return index & (std::bit_floor(index) - 1); }
  static bool IsRehashed(const Bucket& bucket) { return bucket.rehashed != 0 || bucket.head != 0; }
  // The bucket whose chain holds the items of this hash.
  uint64_t Holder(uint64_t hash) const {
    uint64_t index = hash & mask_;
    while (!IsRehashed(*BucketAt(index))) index = Parent(index);
    return index;
  }
  // Does segment k begin a block? Segments 1 to first_block - 1 share one.
  bool BeginsBlock(uint32_t k) const { return k == 1 || k >= options_.first_block; }

  // Threads. The lock, or null where there is one thread.
  uint64_t* Own(uint64_t* lock) const { return options_.concurrent ? lock : nullptr; }
  uint64_t Mask() const { return options_.concurrent ? pmem::atomic_load(&mask_) : mask_; }
  // The number of items afterwards.
  uint64_t Count(int64_t items) {
    const auto by = static_cast<uint64_t>(items);
    return options_.concurrent ? __atomic_add_fetch(&items_, by, __ATOMIC_RELAXED) : items_ += by;
  }
  uint64_t Allocate(uint64_t bytes) {
    const LockGuard guard(Own(&allocator_lock_));
    return allocator_.Allocate(bytes);
  }
  void Free(uint64_t offset) {
    const LockGuard guard(Own(&allocator_lock_));
    allocator_.Free(offset);
  }

  // items.cc
  // The word that holds the offset of the key's node, or null.
  uint64_t* FindLink(Bucket* bucket, Bytes key) const;
  uint64_t CreateNode(Bytes key, Bytes value, uint64_t next, uint64_t old);
  uint64_t* Locate(Bytes key, bool change, BucketLock* lock);
  uint64_t Link(uint64_t* link, uint64_t to, int64_t items, bool flush);
  void AwaitReaders(uint64_t node) const;
  powercut_status Assign(uint64_t node, Bytes value, LockGuard* guard);
  bool SetsSizeAlone() const;
  static void SetSize(uint64_t* word, uint64_t size, bool flush);
  powercut_status AssignByTwoStores(uint64_t node, Bytes value);
  powercut_status AssignWords(uint64_t node, Bytes value, LockGuard* guard);
  powercut_status Replace(Bytes key, Bytes value);

  // buckets.cc
  bool MaskRace(uint64_t hash, uint64_t* mask) const;
  void CheckGrowth(uint64_t mask, uint64_t items);
  uint64_t WordsToMove(uint64_t index) const;
  template <typename Change>
  void Split(Bucket* from, Bucket* to, uint64_t index, Change change) const;
  bool EnableSegment(uint32_t k);
  void PublishSegments(uint32_t k, uint64_t block);

  // recover.cc
  powercut_status RollBack();
  powercut_status Attach();
  powercut_status Sweep();

  powercut_pool pool_;
  Options options_;
  PoolAllocator allocator_;
  uint64_t mask_ = kEmbedded - 1;  // buckets - 1; restored at open from the segments that exist
  uint64_t items_ = 0;
  uint64_t growth_lock_ = kFree, log_lock_ = kFree, allocator_lock_ = kFree;  // kept by threads
};

}  // namespace powercut::cmap
#endif  // POWERCUT_TARGETS_CMAP_TABLE_H_

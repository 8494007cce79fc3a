// SmartCuckoo (Sun, Hua, Jiang, Li, Cao, Zuo: "SmartCuckoo: A Fast and Cost-Efficient Hashing Index Scheme for Cloud
// Storage Systems", USENIX ATC 2017) on persistent memory, one thread. README.md maps functions to sections.
//
// The handle is volatile: Open makes it anew, the pseudoforest included.
#ifndef POWERCUT_TARGETS_SMARTCUCKOO_TABLE_H_
#define POWERCUT_TARGETS_SMARTCUCKOO_TABLE_H_

#include <cstdint>
#include <memory>

#include "targets/common/pool_allocator.h"
#include "targets/common/scheme_table.h"
#include "targets/smartcuckoo/forest.h"
#include "targets/smartcuckoo/layout.h"
#include "targets/smartcuckoo/options.h"

namespace powercut::smartcuckoo {

// A bucket's content in DRAM: the new item, or a victim on its way.
struct Item {
  alignas(8) uint8_t bytes[kMostValue + kMostKey];
};

class Table {
 public:
  POWERCUT_SCHEME_TABLE(smartcuckoo::Options);    // insert.cc, update.cc, erase.cc, search.cc
  powercut_status Maintain(const char* command);  // resize.cc
  void Draw(Drawing* to) const;                   // draw.cc

  // Returns the forecast of Insert for an absent key, before any kick-out (insert.cc).
  Forecast Predetermine(const uint8_t* key) { return Predetermine(PositionsOf(key)); }

  // Regions: 0 is the root and the forest, then every bucket, those of the stash last.
  uint64_t regions() const { return 1 + uint64_t{Places(directory_)}; }
  bool Reaches(uint64_t offset) const { return offset == directory_.offset; }
  PoolAllocator& allocator() { return allocator_; }
  const Directory& directory() const { return directory_; }
  const Geometry& geometry() const { return geometry_; }
  const Forest& forest() const { return forest_; }

  // visit(key, value) for every valid copy of the key, until it returns true.
  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) {
    const Positions at = PositionsOf(key);
    for (uint32_t b : {at.first, at.second}) {
      const uint8_t* bucket = Bucket(b);
      if (Holds(b, key) && visit(geometry_.Key(bucket), bucket)) return;
    }
    for (uint32_t b = directory_.buckets(); b < Places(directory_); ++b) {
      if (Holds(b, key) && visit(geometry_.Key(Bucket(b)), Bucket(b))) return;
    }
  }

  template <typename Visit>
  void Walk(uint64_t region, Visit visit) {
    if (region == 0) return;
    const uint8_t* bucket = Bucket(static_cast<uint32_t>(region - 1));
    if (geometry_.Occupied(bucket)) visit(geometry_.Key(bucket), bucket);
  }

 private:
  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), geometry_(options), allocator_(pool, {.begin = sizeof(Root), .unit = kUnit}) {}

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  bool Has(Bug bug) const { return options_.bug == bug; }
  // How many buckets a directory has, with its stash, and of how many bytes.
  uint32_t Places(const Directory& directory) const { return directory.buckets() + geometry_.stash; }
  uint64_t Bytes(const Directory& directory) const { return uint64_t{Places(directory)} * geometry_.stride; }
  bool InStash(uint32_t b) const { return b >= directory_.buckets(); }
  uint8_t* Bucket(uint32_t b) const { return pool_.base + directory_.offset + uint64_t{b} * geometry_.stride; }
  Positions PositionsOf(const uint8_t* key) const { return directory_.Of(key, geometry_.key_size); }
  // The positions of the item that is in the bucket.
  Positions PositionsOf(uint32_t b) const { return PositionsOf(geometry_.Key(Bucket(b))); }
  bool Holds(uint32_t b, const uint8_t* key) const {
    return geometry_.Occupied(Bucket(b)) && geometry_.KeyEquals(Bucket(b), key);
  }
  Item MakeItem(const uint8_t* key, const uint8_t* value) const;
  // Where the key is (the first table first, the stash last), or Forest::kNone.
  uint32_t FindBucket(const uint8_t* key) const;
  // The other copy of what bucket `b` holds, or Forest::kNone.
  uint32_t FindDuplicate(uint32_t b) const;

  // slots.cc: the persistent steps that every operation is made of. Each is durable at return.
  void PersistItem(const uint8_t* bucket) const;
  void SetToken(uint32_t b, uint8_t token) const;
  void Clear(uint32_t b) const { SetToken(b, 0); }
  void Fill(uint32_t b, const uint8_t* item) const;
  void ClearStash() const {
    for (uint32_t b = directory_.buckets(); b < Places(directory_); ++b) Clear(b);
  }

  // insert.cc
  Forecast Predetermine(const Positions& at);
  void PlaceByKickOuts(uint32_t start, const Item& item, uint32_t backup);  // the paper's order
  void VacateByMoves(uint32_t start);                                       // the log-free order
  bool PlaceInStash(const Item& item);

  // learn.cc: brings bucket `b`, if it is occupied, and its whole path into the forest.
  void Learn(uint32_t b);

  // resize.cc. Rehashes all items, and `extra` unless it is null, into a directory of at least 2^log2 buckets a table.
  powercut_status Rehash(uint32_t log2, const Item* extra);
  // A directory in DRAM: which bucket of the old one fills each bucket, and the forest of that.
  struct Plan;
  bool MakePlan(const Directory& next, const Item* extra, Plan* plan);
  bool PlanItem(Plan* plan, uint32_t source, const uint8_t* key);

  // recover.cc
  void ReplayLog();
  void BuildForest();

  powercut_status VerifyForest(char* message, size_t size);

  powercut_pool pool_;
  Options options_;
  Geometry geometry_;
  PoolAllocator allocator_;
  Directory directory_;
  Forest forest_;
};

}  // namespace powercut::smartcuckoo
#endif  // POWERCUT_TARGETS_SMARTCUCKOO_TABLE_H_

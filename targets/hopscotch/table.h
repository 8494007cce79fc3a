// Hopscotch hashing (Herlihy, Shavit, Tzafrir, DISC 2008), one thread, on persistent memory. README.md has the
// algorithm in a page.
//
// The handle is volatile: everything that is the table's lies in the pool.
#ifndef POWERCUT_TARGETS_HOPSCOTCH_TABLE_H_
#define POWERCUT_TARGETS_HOPSCOTCH_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "targets/common/hash.h"
#include "targets/common/pool_allocator.h"
#include "targets/common/scheme_table.h"

namespace powercut::hopscotch {

// `published` has the first three; `bug=` plants one of all into `hardened`.
enum class Bug : uint8_t {
  kNone,
  kInsertHopFirst,      // insert: the home's bitmap has the bit before the item is durable
  kUpdateInPlace,       // update: a value of several words is overwritten where it lies
  kMoveClearsFirst,     // displacement: the item leaves its old bucket before it is in the new one
  kMoveHopFirst,        // displacement: the bitmap names the new bucket before the copy is durable
  kUpdateTwoWrites,     // update: the bitmap loses the old bucket by one store and gets the new one by another
  kInsertNotFlushed,    // insert: the bitmap is not flushed
  kEraseNotFlushed,     // erase: the bitmap is not flushed
  kExpandPublishEarly,  // expand: the root names the new buckets before they are durable
  kCount
};

struct Options : SchemeOptions {
  bool auto_expand;
  uint8_t hop;  // buckets of a neighbourhood
  uint64_t buckets;
  Bug bug;
};

struct alignas(pmem::kLine) Root {
  uint64_t magic;
  uint64_t array;  // block: a line with the number of buckets, then the buckets
};
static_assert(sizeof(Root) == pmem::kLine);

// Buckets that the root names, or is going to name.
struct Array {
  uint8_t* buckets;
  uint64_t count;

  uint64_t Behind(uint64_t bucket, uint64_t distance) const { return (bucket + distance) % count; }
  uint64_t Before(uint64_t bucket, uint64_t distance) const { return (bucket + count - distance) % count; }
};

class Table {
 public:
  POWERCUT_SCHEME_TABLE(hopscotch::Options);      // items.cc
  powercut_status Maintain(const char* command);  // expand.cc
  void Draw(Drawing* to) const;                   // draw.cc

  // Regions: the items of each home.
  uint64_t regions() const { return Current().count; }
  PoolAllocator& allocator() { return allocator_; }
  bool Reaches(uint64_t offset) const { return offset == root()->array; }

  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) const {
    const Array array = Current();
    ForEachOf(array, Home(array, key), [&](uint64_t bucket) {
      return std::memcmp(KeyOf(array, bucket), key, options_.key_size) == 0 &&
             visit(KeyOf(array, bucket), ValueOf(array, bucket));
    });
  }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    const Array array = Current();
    ForEachOf(array, region, [&](uint64_t bucket) { return visit(KeyOf(array, bucket), ValueOf(array, bucket)); });
  }

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), allocator_(pool, {.begin = sizeof(Root), .unit = pmem::kLine}) {}

  bool Has(Bug bug) const {
    return options_.bug == bug || (!options_.hardened && bug != Bug::kNone && bug <= Bug::kMoveClearsFirst);
  }

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  static uint64_t Padded(uint64_t size) { return (size + 7) / 8 * 8; }
  uint64_t stride() const { return sizeof(uint64_t) + Padded(options_.key_size) + Padded(options_.value_size); }
  uint64_t ArrayBytes(uint64_t count) const { return pmem::kLine + count * stride(); }
  Array ArrayIn(uint64_t offset) const {
    return {pool_.base + offset + pmem::kLine, *reinterpret_cast<uint64_t*>(pool_.base + offset)};
  }
  Array Current() const { return ArrayIn(root()->array); }

  // A bucket is the bitmap of its neighbourhood, then an item of any home that reaches it. Bit i of the bitmap: bucket
  // + i holds an item whose home this bucket is. A bucket in nobody's bitmap is free, so the bit is the item's commit.
  uint64_t* HopAt(const Array& array, uint64_t bucket) const {
    return reinterpret_cast<uint64_t*>(array.buckets + bucket * stride());
  }
  uint8_t* KeyOf(const Array& array, uint64_t bucket) const {
    return array.buckets + bucket * stride() + sizeof(uint64_t);
  }
  uint8_t* ValueOf(const Array& array, uint64_t bucket) const {
    return KeyOf(array, bucket) + Padded(options_.key_size);
  }
  uint64_t Home(const Array& array, const uint8_t* key) const { return HashKey(key, options_.key_size) % array.count; }
  uint64_t Reach(const Array& array) const { return std::min<uint64_t>(options_.hop, array.count); }
  static uint64_t Distance(const Array& array, uint64_t from, uint64_t to) { return array.Before(to, from); }
  static uint64_t Bit(uint64_t distance) { return uint64_t{1} << distance; }

  // The buckets with the items of a home, until visit(bucket) returns true; kNowhere, or that bucket.
  template <typename Visit>
  uint64_t ForEachOf(const Array& array, uint64_t home, Visit visit) const {
    const uint64_t hop = *HopAt(array, home);
    for (uint64_t i = 0; i < Reach(array); ++i) {
      const uint64_t bucket = array.Behind(home, i);
      if ((hop & Bit(i)) != 0 && visit(bucket)) return bucket;
    }
    return kNowhere;
  }

  // Stores one word, durably.
  static void SetWord(uint64_t* word, uint64_t value) {
    pmem::atomic_store(word, value);
    pmem::persist(word, sizeof *word);
  }

  // items.cc
  uint64_t Find(const Array& array, const uint8_t* key) const;
  bool IsUsed(const Array& array, uint64_t bucket) const;
  uint64_t FindRoom(const Array& array, uint64_t home);
  uint64_t MoveAway(const Array& array, uint64_t free);
  void Write(const Array& array, uint64_t bucket, const uint8_t* key, const uint8_t* value, bool durable);
  powercut_status MakeRoom(const uint8_t* key, uint64_t* bucket);

  // expand.cc
  powercut_status Expand();
  bool CopyItems(const Array& to);

  powercut_pool pool_;
  Options options_;
  PoolAllocator allocator_;
};

}  // namespace powercut::hopscotch
#endif  // POWERCUT_TARGETS_HOPSCOTCH_TABLE_H_

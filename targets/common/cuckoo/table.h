// Bucketized cuckoo hashing in persistent memory: the table that the schemes bch, bcht, stash and libcuckoo share.
// README.md describes the common parts; the README of each scheme describes the scheme's own parts.
//
// The handle is volatile: Open rebuilds all its members.
#ifndef POWERCUT_TARGETS_COMMON_CUCKOO_TABLE_H_
#define POWERCUT_TARGETS_COMMON_CUCKOO_TABLE_H_

#include <bit>
#include <cstdint>
#include <memory>

#include "targets/common/cuckoo/layout.h"
#include "targets/common/cuckoo/locks.h"
#include "targets/common/cuckoo/options.h"
#include "targets/common/hash.h"
#include "targets/common/pool_allocator.h"
#include "targets/common/scheme_table.h"

namespace powercut::cuckoo {

struct Probe {
  uint64_t hash[2];
  uint8_t tag() const { return static_cast<uint8_t>(hash[0] >> 56); }
};

// Where a copy of an item lies, or may lie.
struct Place {
  const SlotArray* array = nullptr;
  uint64_t index = 0;  // of the bucket; the stash comes after the last bucket
  uint32_t slot = 0;

  bool found() const { return array != nullptr; }
  bool operator==(const Place&) const = default;
};

// The slots that an insertion empties: the item of each moves to the next, the last one is free.
struct Path {
  struct Step {
    uint32_t index, slot;
  };
  Step step[kMostSteps + 1];
  uint32_t length = 0;

  void Add(uint64_t index, uint32_t slot) { step[length++] = {static_cast<uint32_t>(index), slot}; }
  // The slots of the bucket that lie on the path, as a mask.
  uint32_t SlotsOf(uint64_t index) const {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < length; ++i) {
      if (step[i].index == index) mask |= 1u << step[i].slot;
    }
    return mask;
  }
};

class Table {
 public:
  POWERCUT_SCHEME_TABLE(cuckoo::Options);         // insert.cc, update.cc (and Erase), search.cc; Traits: recover.cc
  powercut_status Maintain(const char* command);  // resize.cc
  void Draw(Drawing* to) const;                   // draw.cc

  // Regions: 0 is the root, then every bucket and the stash of every slot array.
  uint64_t regions() const;
  bool Reaches(uint64_t offset) const;
  PoolAllocator& allocator() { return allocator_; }
  const Geometry& geometry() const { return geometry_; }
  const SlotArray& main() const { return arrays_[0]; }
  uint64_t slots() const { return geometry_.Buckets(arrays_[0].log2) * geometry_.bucket.slots + geometry_.stash.slots; }

  // visit(key, value) for every valid copy of the key, until it returns true.
  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) {
    ForEachPlace(key, [&](const Place& place) {
      const uint8_t* slot = SlotAt(place);
      return visit(slot, slot + geometry_.key_size);
    });
  }
  // Calls `visit` for every item of the region.
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) {
    Place bucket = RegionBucket(region);
    if (!bucket.found()) return;
    for (uint32_t rest = Tokens(bucket); rest != 0; rest &= rest - 1) {
      bucket.slot = static_cast<uint32_t>(std::countr_zero(rest));
      const uint8_t* slot = SlotAt(bucket);
      if (visit(slot, slot + geometry_.key_size)) return;
    }
  }

 private:
  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), geometry_(options), allocator_(pool, {.begin = sizeof(Root), .unit = kUnit}) {}

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  uint64_t OffsetOf(const uint8_t* at) const { return static_cast<uint64_t>(at - pool_.base); }
  bool Has(Bug bug) const { return options_.bug == bug; }
  static void Mark(const SlotArray& array, const char* name) {
    if (array.published) pmem::mark(name);
  }

  // Buckets.
  uint64_t Buckets(const SlotArray& array) const { return geometry_.Buckets(array.log2); }
  bool InStash(const Place& place) const { return place.index == Buckets(*place.array); }
  const Shape& ShapeOf(const Place& place) const { return InStash(place) ? geometry_.stash : geometry_.bucket; }
  uint8_t* BucketAt(const Place& place) const { return place.array->base + place.index * geometry_.bucket.stride; }
  uint8_t* SlotAt(const Place& place) const { return ShapeOf(place).Slot(BucketAt(place), place.slot); }
  uint32_t Tokens(const Place& place) const {
    return ShapeOf(place).LoadTokens(BucketAt(place)) & ShapeOf(place).full();
  }
  bool HasToken(const Place& place) const { return (Tokens(place) >> place.slot & 1) != 0; }
  // A free slot of the bucket in place->slot; false: it is full.
  bool FindFree(Place* place) const {
    const uint32_t tokens = Tokens(*place);
    place->slot = static_cast<uint32_t>(std::countr_one(tokens));
    return tokens != ShapeOf(*place).full();
  }
  // The buckets and the stash of an array, in their order.
  uint64_t AllBuckets(const SlotArray& array) const { return Buckets(array) + (geometry_.has_stash() ? 1 : 0); }

  // search.cc. The two buckets of a key, and the other bucket of an item that lies in one of its buckets.
  Probe ProbeOf(const uint8_t* key) const {
    return {{HashKey(key, geometry_.key_size, 0), HashKey(key, geometry_.key_size, 1)}};
  }
  uint64_t Home(const SlotArray& array, const Probe& probe, int which) const;
  uint64_t Alternative(const Place& place) const;
  Place Find(const uint8_t* key);
  // A copy of the item at `place` in another slot.
  Place FindOtherCopy(const Place& place);

  // visit(place) for every valid copy, until it returns true: first array first, first bucket first, stash last.
  template <typename Visit>
  void ForEachPlace(const uint8_t* key, Visit visit) {
    const Probe probe = ProbeOf(key);
    for (int i = 0; i < array_count_; ++i) {
      if (VisitCopies(&arrays_[i], key, probe, visit)) return;
    }
  }
  template <typename Visit>
  bool VisitCopies(const SlotArray* array, const uint8_t* key, const Probe& probe, Visit& visit) {
    const uint64_t first = Home(*array, probe, 0), second = Home(*array, probe, 1);
    if (VisitBucket({array, first, 0}, key, probe, visit)) return true;
    if (second != first && VisitBucket({array, second, 0}, key, probe, visit)) return true;
    return geometry_.has_stash() && VisitBucket({array, Buckets(*array), 0}, key, probe, visit);
  }
  template <typename Visit>
  bool VisitBucket(Place place, const uint8_t* key, const Probe& probe, Visit& visit) {
    const Shape& shape = ShapeOf(place);
    uint8_t* bucket = BucketAt(place);
    const uint64_t header = shape.LoadHeader(bucket);
    for (uint32_t rest = static_cast<uint32_t>(header) & shape.full(); rest != 0; rest &= rest - 1) {
      place.slot = static_cast<uint32_t>(std::countr_zero(rest));
      if (options_.tags && Shape::TagIn(header, place.slot) != probe.tag()) continue;
      if (geometry_.KeyEquals(shape.Slot(bucket, place.slot), key) && visit(place)) return true;
    }
    return false;
  }

  // slots.cc: the steps that every operation is made of. In a published array each is durable at return.
  void Persist(const SlotArray& array, const uint8_t* at, uint64_t size) const;
  void PersistSlot(const Place& place, const uint8_t* slot) const;
  void SetToken(const Place& place, uint8_t tag) const;
  // Writes the item, then sets the token of the slot. `unordered` names the bug that breaks this order here.
  void Fill(const Place& place, const Item& item, const Probe& probe, Bug unordered) const;
  // Clears the token of the slot.
  void Clear(const Place& place) const;
  // Copy, set the token of the copy, clear the token of the original.
  void Move(const Place& from, const Place& to, Bug clear_first, const char* copied_mark);
  // Puts the item over the one that is there.
  void Overwrite(const Place& place, const Item& item) const;
  Item Load(const Place& place) const;

  // insert.cc. Puts the item into the array; false: no place, nothing changed.
  bool PlaceItem(const SlotArray* array, const Item& item);
  bool PlaceInBuckets(const SlotArray* array, const Item& item, const Probe& probe);
  bool PlaceByPath(const SlotArray* array, const Item& item, const Probe& probe);
  bool PlaceByKickOut(const SlotArray* array, const Item& item, const Probe& probe);
  bool PlaceInStash(const SlotArray* array, const Item& item, const Probe& probe);

  // path.cc. A path from one of the key's buckets to a free slot, without a change.
  bool FindPath(const SlotArray* array, const Probe& probe, Path* path) const;
  bool WalkFrom(const SlotArray* array, uint64_t index, uint64_t* random, uint32_t* steps, Path* path) const;
  bool BreadthFirst(const SlotArray* array, const Probe& probe, Path* path) const;

  // update.cc
  void UpdateLogFree(const Place& place, uint32_t slot, const Item& item, const Probe& probe);
  void UpdateLogged(const Place& place, const Item& item);
  void UpdateInPlace(const Place& place, const Item& item, StripeGuard* guard);
  void DrainStash(const Place& freed);

  // arrays.cc: which slot arrays the table consists of.
  struct ArrayList {
    SlotArray array[kMostArrays];  // the first takes the items, the others are being emptied
    int count = 0;
    void Add(const SlotArray& next) { array[count++] = next; }
  };
  // Takes a block and an unused descriptor. False: pool full.
  bool AllocateArray(uint8_t log2, SlotArray* out);
  void InitialiseTokens(const SlotArray& array) const;
  void WriteDescriptor(const SlotArray& array) const;
  // Makes the list the table's arrays by one atomic store.
  void Publish(const ArrayList& next);
  powercut_status Attach();

  // resize.cc
  powercut_status Expand();
  powercut_status Shrink();
  powercut_status ResizeByCopy(uint8_t log2);
  bool CopyInto(const SlotArray* next);
  powercut_status ResizeByRehash(uint8_t log2);
  powercut_status FinishRehash(bool recovering);
  bool Rehash(bool recovering);
  bool RehashItem(const Place& place, bool check_duplicate);
  bool Introduce(uint8_t log2);
  void TurnAround();

  // threads.cc
  // The number of the table that is attached: the logarithm of its array's size, and at least kSecondArray if a rehash
  // has left others attached.
  static constexpr uint64_t kSecondArray = 256;
  uint64_t TableNumber() const { return arrays_[0].log2 + kSecondArray * static_cast<uint64_t>(array_count_ - 1); }
  bool Share();
  uint32_t StripesOf(uint64_t table, const Probe& probe) const;
  void LockBuckets(const uint8_t* key, StripeGuard* guard) const;
  powercut_status InsertBesideOthers(const Item& item);
  bool MoveAlong(const Path& path, const SlotArray* array, uint64_t table, const Probe& probe, StripeGuard* guard);
  bool Fits(const Place& from, const Place& to) const;
  powercut_status ExpandFrom(uint64_t table);
  powercut_status LookupBucketwise(const uint8_t* key, uint8_t* value);

  // recover.cc
  void ReplayLog();

  void DrawBucket(Drawing* to, Place place) const;  // draw.cc

  // verify.cc
  Place RegionBucket(uint64_t region);
  powercut_status VerifyRoot(char* message, size_t size);

  powercut_pool pool_;
  Options options_;
  Geometry geometry_;
  PoolAllocator allocator_;
  SlotArray arrays_[kMostArrays];
  int array_count_ = 0;
  std::unique_ptr<Locks> locks_;  // null: one thread, and during recovery
};

}  // namespace powercut::cuckoo
#endif  // POWERCUT_TARGETS_COMMON_CUCKOO_TABLE_H_

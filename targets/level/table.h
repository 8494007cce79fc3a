// Level hashing (Zuo, Hua, Wu: "Write-Optimized and High-Performance Hashing Index Scheme for Persistent
// Memory", OSDI 2018). README.md maps functions to sections of the paper.
//
// The handle is volatile: everything in it is rebuilt by Open.
#ifndef POWERCUT_TARGETS_LEVEL_TABLE_H_
#define POWERCUT_TARGETS_LEVEL_TABLE_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "powercut/target.h"
#include "targets/common/pool_allocator.h"
#include "targets/level/hash.h"
#include "targets/level/layout.h"
#include "targets/level/locks.h"
#include "targets/level/options.h"

namespace powercut {
class Drawing;
}

namespace powercut::level {

// Where a copy of an item lies.
struct Place {
  Level* level = nullptr;
  uint8_t* bucket = nullptr;
  uint32_t slot = 0;
  uint32_t tokens = 0;  // of the bucket, as they were read

  bool found() const { return bucket != nullptr; }
};

class Table {
 public:
  // target.cc: what the shared adapter asks of a scheme (common/scheme_target.h).
  using Options = level::Options;
  static powercut_status ParseOptions(const powercut_config& config, Options* out);
  static void Traits(const Options& options, powercut_traits* out);
  powercut_status Insert(const uint8_t* key, const uint8_t* value) { return Insert(ItemOf(key, value)); }
  powercut_status Update(const uint8_t* key, const uint8_t* value) { return Update(ItemOf(key, value)); }
  powercut_status Erase(const uint8_t* key) { return Erase(ItemOf(key)); }
  powercut_status Lookup(const uint8_t* key, uint8_t* value) { return Lookup(ItemOf(key), value); }
  powercut_status Maintain(const char* command);
  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) {
    Access alone;
    ForEachCopy(alone, ItemOf(key), [&](const Place& place) {
      const uint8_t* slot = geometry_.Slot(place.bucket, place.slot);
      return visit(slot, slot + options_.key_size) ? 1 : 0;
    });
  }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    WalkSlots(region, [&](const uint8_t* slot) { return visit(slot, slot + options_.key_size); });
  }

  static powercut_status Format(powercut_pool pool, const Options& options);             // recover.cc
  static powercut_status Open(powercut_pool pool, const Options& options, Table** out);  // open.cc

  powercut_status Insert(const Item& item);  // insert.cc
  // Where `old` is not null, these copy there the contents of the slot that they switch or clear.
  powercut_status Update(const Item& item, Item* old = nullptr);        // update.cc
  powercut_status Erase(const Item& item, Item* old = nullptr);         // erase.cc
  powercut_status Lookup(const Item& key, uint8_t* value);              // lookup.cc
  powercut_status Expand();                                             // resize.cc
  powercut_status Shrink();                                             // resize.cc
  powercut_status Verify(uint64_t region, char* message, size_t size);  // verify.cc

  void Draw(Drawing* to) const;  // draw.cc

  // Regions: 0 is the root, then every bucket of every level, top level first.
  uint64_t regions() const;
  uint8_t* RegionBucket(uint64_t region, const Level** level, uint64_t* index) const;
  int level_count() const { return level_count_; }
  const Level& level(int i) const { return levels_[i]; }
  bool Reaches(uint64_t offset) const;
  PoolAllocator& allocator() { return allocator_; }
  const Options& options() const { return options_; }
  const Geometry& geometry() const { return geometry_; }

  // visit(slot) for every item of a region, until it returns true.
  template <typename Visit>
  void WalkSlots(uint64_t region, Visit visit) const {
    const Level* level = nullptr;
    uint64_t index = 0;
    uint8_t* bucket = RegionBucket(region, &level, &index);
    if (bucket == nullptr) return;
    for (uint32_t rest = geometry_.LoadTokens(bucket) & geometry_.full(); rest != 0; rest &= rest - 1) {
      if (visit(geometry_.Slot(bucket, static_cast<uint32_t>(std::countr_zero(rest))))) return;
    }
  }

  // visit(slot) for every valid copy of the key, with the slot locked; stops when it returns non-zero.
  template <typename Visit>
  void ForEachCopy(const Access& access, const Item& key, Visit visit) {
    const Probe probe = geometry_.ProbeOf(key);
    for (int i = 0; i < level_count_; ++i) {
      Level& level = levels_[SearchOrder(i)];
      for (int h = 0; h < 2; ++h) {
        if (h == 1 && SameBucket(level, probe)) break;
        uint8_t* bucket = Bucket(level, IndexOf(level, probe, h));
        // The paper's readers lock a slot, then look at its token. A token that a reader saw clear without the lock
        // might belong to an erase that is not durable. No other thread erases an item beside the item's owner.
        const uint32_t tokens = access.slots_only() ? geometry_.full() : geometry_.LoadTokens(bucket);
        for (uint32_t rest = tokens & geometry_.full(); rest != 0; rest &= rest - 1) {
          const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
          const Place place{&level, bucket, slot, tokens};
          const SpinGuard guard(LockOf(access, place));
          if (guard.held() && !IsValid(place)) continue;
          if (!geometry_.KeyEquals(geometry_.Slot(bucket, slot), key)) continue;
          if (visit(place) != 0) return;
        }
      }
    }
  }

 protected:
  Table(powercut_pool pool, const Options& options)
      : pool_(pool),
        options_(options),
        geometry_(options, pool.base),
        allocator_(pool, {.begin = sizeof(Root), .unit = kUnit}) {}

  Item ItemOf(const uint8_t* key, const uint8_t* value = nullptr) const;

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  uint64_t OffsetOf(const uint8_t* at) const { return static_cast<uint64_t>(at - pool_.base); }
  uint8_t* Bucket(const Level& level, uint64_t index) const { return level.base + index * geometry_.stride; }
  // Equations 1 and 2 (3.1). With `hashes=halves` the first function addresses the first half of every level, and the
  // second one the other.
  uint64_t IndexOf(const Level& level, const Probe& probe, int h) const {
    if (!options_.halves) return probe.hash[h] & level.mask;
    const uint64_t half = level.mask >> 1;
    return (probe.hash[h] & half) + (h == 0 ? 0 : level.mask - half);
  }
  bool SameBucket(const Level& level, const Probe& probe) const {
    return IndexOf(level, probe, 0) == IndexOf(level, probe, 1);
  }
  bool Has(Bug bug) const { return options_.bug == bug; }

  // slots.cc: the slots beside other threads.
  // The lock of the slot, or null where there is nobody to keep away.
  uint8_t* LockOf(const Access& access, const Place& place) const;
  // Is the token of the slot set?
  bool IsValid(const Place& place) const { return (geometry_.LoadTokens(place.bucket) >> place.slot & 1) != 0; }
  bool Holds(const Place& place, const Item& key) const {
    return IsValid(place) && geometry_.KeyEquals(geometry_.Slot(place.bucket, place.slot), key);
  }
  // Locks an empty slot of the bucket of `place` and enters it there; false: there is none among `slots`, a set.
  bool TakeEmpty(const Access& access, uint32_t slots, Place* place, SpinGuard* guard) const;
  uint32_t EmptySlots(const Place& place) const { return geometry_.full() & ~place.tokens; }
  // Does a movement lock slots that are not empty, to look at their tokens?
  bool LocksTaken(const Access& access) const {
    return access.slots_only() || (Has(Bug::kMoveLocksFull) && !access.alone());
  }

  // search.cc. The i-th level to probe: the fuller one of the two first (dynamic search, 3.2(3)).
  int SearchOrder(int i) const { return i < 2 && bottom_first_ ? 1 - i : i; }
  Place Find(const Access& access, const Item& key);
  // A copy of the same key other than `place`, in any level.
  Place FindOtherCopy(const Access& access, const Item& key, const Place& place);
  // Clears a copy of the key other than `place`; false: there is none.
  bool ClearOtherCopy(const Access& access, const Item& key, const Place& place, const char* mark, Item* old = nullptr);
  void AddItems(Level& level, int64_t change);
  void CountItems();
  void SettleItems();
  // Beside other threads nothing is counted: the order is that of the last resize or open.
  void OrderSearch();

  // slots.cc: the persistent steps that every operation is made of. Each is durable at return.
  void PersistSlot(uint8_t* slot) const;
  void PersistTokens(const uint8_t* bucket) const;
  void WriteItem(uint8_t* slot, const uint8_t* item) const;
  // Writes the item, then sets the token of the slot (3.3(2)). `unordered` names the bug that breaks this order here.
  void Fill(const Place& place, const uint8_t* item, Bug unordered);
  // Clears the token of the slot (3.3(1)).
  void Clear(const Place& place);

  // insert.cc. Puts the item into the top or bottom level; false: no place, nothing changed.
  bool PlaceItem(Access& access, const Item& item, const Probe& probe);
  bool PlaceInLevel(const Access& access, Level& level, const Probe& probe, const Item& item);
  bool PlaceByMovement(Access& access, Level& level, const Probe& probe, const Item& item);
  bool PlaceByB2t(Access& access, const Probe& probe, const Item& item);
  // How a movement is called in marks, and the bug that breaks its order.
  struct Movement {
    Bug unordered;
    const char* mark;
    const char* copied_mark;
  };
  bool WasErased(const Access& access, const Place& place) const;
  bool Vacate(Access& access, const Place& from, SpinGuard* guard, const Probe& its, Place to, const Movement& how);
  void MoveItem(const Place& from, const Place& to, const uint8_t* item, const Movement& how);
  bool IsDuplicate(const Access& access, const Place& place, SpinGuard* guard);

  // update.cc
  struct UpdateLocks;
  void UpdateLogFree(UpdateLocks* locks, const Place& place, uint32_t slot, const Item& item);
  void UpdateSlot(const Place& place, const Item& item);
  void UpdateLogged(const Access& access, const Place& place, const Item& item);  // undo_log.cc

  // levels.cc: which levels the table consists of.
  struct LevelList {
    Level level[kMaxLevels];  // top, bottom, interims
    int count = 0;
    void Add(const Level& next) { level[count++] = next; }
  };
  // Takes a block and an unused descriptor for a level of 2^log2 buckets; adds it to the list. False: pool full.
  bool AllocateLevel(uint8_t log2, LevelList* list);
  void InitialiseTokens(const Level& level);
  void WriteDescriptor(const Level& level);
  // Makes the list the table's levels by one atomic store.
  void Publish(const LevelList& next, Bug torn_by);
  powercut_status Attach();

  // resize.cc
  // Expand() for an insert that found no place; does nothing where another thread has expanded the top level since it
  // had 2^log2 buckets.
  powercut_status ExpandFrom(uint8_t log2);
  powercut_status ExpandAlone();
  powercut_status ShrinkAlone();
  powercut_status ResizeInPlace(bool expand);
  powercut_status ResizeTraditional(bool expand);
  void Introduce(const LevelList& next, int fresh_at, int fresh_count, bool expand);
  powercut_status FinishResize(bool recovering);
  bool RehashInterims(bool recovering);
  bool RehashItem(const Place& place, bool check_duplicate);
  void TurnAround();
  bool Grow();

  // recover.cc. An open is Begin(), a sweep of the allocator, and Settle().
  powercut_status Begin();  // finds the levels
  void Settle();            // finishes a resize that was cut
  void ReplayLog();         // undo_log.cc
  // From now on operations lock. False: no memory.
  bool Share();  // slots.cc
  // The end of an open: gives away the opened table, which threads may use where the options say so.
  template <typename Opened>
  static powercut_status HandOut(Opened&& opening, Opened** out) {
    std::unique_ptr<Opened> table(new (std::nothrow) Opened(std::move(opening)));
    if (table == nullptr || (table->options().concurrent && !table->Share())) return POWERCUT_FULL;
    *out = table.release();
    return POWERCUT_OK;
  }

  // The allocator beside other threads: a resize holds all stripes, but an item is made without any.
  uint8_t* MemoryLock() const { return Geometry::kAtomicSlots && locks_ != nullptr ? locks_->memory() : nullptr; }
  uint64_t AllocateBlock(uint64_t bytes) {
    const SpinGuard guard(MemoryLock());
    return allocator_.Allocate(bytes);
  }
  void FreeBlock(uint64_t offset) {
    const SpinGuard guard(MemoryLock());
    allocator_.Free(offset);
  }

  powercut_pool pool_;
  Options options_;
  Geometry geometry_;
  PoolAllocator allocator_;
  Level levels_[kMaxLevels];  // top, bottom, then interim levels (none outside a resize)
  int level_count_ = 0;
  std::unique_ptr<Locks> locks_;  // null: one thread, and during recovery
  // Which level a search probes first (3.2(3)). The counts are settled, and compared, only after as many changes
  // as their difference could take to vanish: until then the order cannot flip, so that neither a search nor an
  // insert depends on every insert that came before it.
  alignas(8) uint64_t bottom_first_ = 0;
  uint64_t counted_ = 0;       // whether the items of each level were
  uint64_t changes_ = 0;       // since the counts were settled
  uint64_t settle_after_ = 1;  // changes; at most the counts' difference, rounded down to a power of two
};

}  // namespace powercut::level
#endif  // POWERCUT_TARGETS_LEVEL_TABLE_H_

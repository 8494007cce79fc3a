// Operations of Dash's two schemes beside other threads, `hardened` (concurrency=concurrent; dash/README.md,
// "Threads").
//
// A writer holds the two buckets that the key may lie in until the change is durable. A lookup takes no lock. A lookup
// notes the versions of the two buckets, searches, and compares the versions again. If the words are equal and
// unlocked, nobody has changed the key in between, and the found record is durable. The argument covers the stash as
// well: a key moves to or from the stash only under its two buckets.
//
// The segment may have split before its buckets were locked, or their versions noted. The segment still is the key's
// segment if it holds the hash: a split holds every bucket until the records have another segment. Segments are never
// freed.
//
// `Scheme::Table` derives from this and gives
//   Segment* SegmentOf(const Hash&)                 the one that has the records of a hash
//   bool Holds(Segment*, const Hash&)               does it still, now that two of its buckets are held or noted?
//   bool NeedsRecovery(Segment*, const Hash&)       is there something of a crash where its records are?
//   powercut_status Acquire(const Hash&, Segment**) SegmentOf, recovered
//   Spot FindHeld(Segment*, key, hash, unchanged)   without a look at locks; `unchanged()`: no bucket was freed since
//   MakeRoom(Segment*, record, hash, leave)         an insert that found none; `leave()` releases what it holds.
//                                                   Nothing: begin again
//   bool SearchUnrecovered(key, hash, value, status)    under the lock of recoveries; false: begin again
#ifndef POWERCUT_TARGETS_DASH_THREAD_STEPS_H_
#define POWERCUT_TARGETS_DASH_THREAD_STEPS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "targets/common/planted_bugs.h"
#include "targets/common/pool_allocator.h"
#include "targets/dash/locks.h"
#include "targets/dash/segment_steps.h"

namespace powercut::dash {

// The buckets that an insertion holds: the two buckets of its key; also the buckets that a displacement and the stash
// need; or all.
enum class Reach : uint8_t { kPair, kAround, kSegment };

template <typename Scheme>
class ThreadSteps : protected SegmentSteps<Scheme> {
 protected:
  using Steps = SegmentSteps<Scheme>;
  using Steps::AwaitUnlocked;
  using Steps::bucket_mask;
  using Steps::Fill;
  using Steps::Full;
  using Steps::Has;
  using Steps::Next;
  using Steps::options_;
  using Steps::Previous;
  using Steps::Unlock;
  using typename Steps::Bug;
  using typename Steps::Options;
  using typename Steps::Segment;
  using typename Steps::Spot;

  ThreadSteps(powercut_pool pool, const Options& options, PoolAllocator::Geometry geometry)
      : Steps(pool, options), allocator_(pool, geometry) {}

  bool TryLock(Segment* segment, uint32_t bucket) {
    uint32_t* lock = &segment->bucket(bucket)->lock;
    uint32_t seen = pmem::atomic_load(lock);
    return (seen & Bucket::kLocked) == 0 &&
           __atomic_compare_exchange_n(lock, &seen, seen | Bucket::kLocked, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }
  void Lock(Segment* segment, uint32_t bucket) {
    if (!options_.concurrent || Has(Bug::kLockByStore)) return Steps::Lock(segment, bucket);
    AwaitUnlocked(segment, bucket);
    while (!TryLock(segment, bucket)) AwaitUnlocked(segment, bucket);
  }
  // The lock of the first stash bucket guards all stash buckets, and the chain beyond.
  bool has_stash() const { return options_.stash != 0; }
  uint32_t stash_lock() const { return options_.buckets; }
  // Null: one thread.
  uint8_t* LockOf(uint8_t Locks::* lock) { return options_.concurrent ? &(locks_.*lock) : nullptr; }
  uint64_t Allocate(uint64_t bytes) {
    const SpinGuard guard(LockOf(&Locks::memory));
    return allocator_.Allocate(bytes);
  }
  void Free(uint64_t offset) {
    const SpinGuard guard(LockOf(&Locks::memory));
    allocator_.Free(offset);
  }

  void LockReach(Segment* segment, const Hash& hash, Reach reach) {
    ForEachReached(hash, reach, [&](uint32_t bucket) { Lock(segment, bucket); });
  }
  void UnlockReach(Segment* segment, const Hash& hash, Reach reach) {
    ForEachReached(hash, reach, [&](uint32_t bucket) { Unlock(segment, bucket); });
  }

  // An insertion locks more buckets only where they are needed, and begins again each time: nothing is known any more
  // of the buckets that it held.
  powercut_status InsertBeside(const Record& record, const Hash& hash) {
    const uint32_t home = hash.bucket(bucket_mask());
    const bool flushes_late = Has(Bug::kUnlockBeforeFlush);
    for (Reach reach = Reach::kPair;;) {
      Segment* segment = nullptr;
      const powercut_status status = table().Acquire(hash, &segment);
      if (status != POWERCUT_OK) return status;
      if (Has(Bug::kInsertCheckApart) && table().FindIn(segment, record.key, hash).found()) return POWERCUT_EXISTS;
      LockReach(segment, hash, reach);
      const auto leave = [&] { UnlockReach(segment, hash, reach); };
      if (!Has(Bug::kInsertStale) && !table().Holds(segment, hash)) {
        leave();
        reach = Reach::kPair;
        continue;
      }
      if (!Has(Bug::kInsertCheckApart) && FindHeld(segment, record.key, hash).found()) {
        leave();
        return POWERCUT_EXISTS;
      }
      const bool has_room = !Full(segment->bucket(home)->Load()) || !Full(segment->bucket(Next(home))->Load());
      if (has_room || reach != Reach::kPair) {
        if (this->PlaceRecord(segment, record, hash, flushes_late ? kRecordOnly : kDurable)) {
          leave();
          if (flushes_late) {
            for (uint32_t bucket : {home, Next(home)}) PersistWord(segment->bucket(bucket));
          }
          return POWERCUT_OK;
        }
      }
      if (reach == Scheme::kWidest) {
        const std::optional<powercut_status> made = table().MakeRoom(segment, record, hash, leave);
        if (made.has_value()) return *made;
        reach = Reach::kPair;
      } else {
        leave();
        reach = reach == Reach::kPair ? Reach::kAround : Reach::kSegment;
      }
    }
  }

  powercut_status UpdateBeside(uint64_t key, uint64_t value, const Hash& hash) {
    Segment* segment = nullptr;
    const powercut_status status = AcquirePair(hash, &segment);
    if (status != POWERCUT_OK) return status;
    const Spot spot = FindHeld(segment, key, hash);
    if (spot.found()) {
      uint64_t* at = &spot.bucket->record[spot.slot].value;
      pmem::atomic_store(at, value);
      DO_IF (Bug::kUpdateUnlockedEarly) UnlockReach(segment, hash, Reach::kPair);
      pmem::persist(at, sizeof *at);
      pmem::mark("update");
      DO_IF (Bug::kUpdateUnlockedEarly) return POWERCUT_OK;
    }
    UnlockReach(segment, hash, Reach::kPair);
    return spot.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
  }

  powercut_status EraseBeside(uint64_t key, const Hash& hash) {
    Segment* segment = nullptr;
    const powercut_status status = AcquirePair(hash, &segment);
    if (status != POWERCUT_OK) return status;
    const Spot spot = FindHeld(segment, key, hash);
    const bool stashed = spot.found() && spot.stash != Spot::kInPair;
    if (stashed) Lock(segment, stash_lock());
    if (spot.found()) {
      this->Clear(spot.bucket, spot.slot, Has(Bug::kEraseUnlockedEarly) ? kDeferred : kDurable);
      pmem::mark(this->ErasedMark(spot));
    }
    if (stashed) {
      this->RemoveOverflow(segment, hash, spot.stash);
      Unlock(segment, stash_lock());
    }
    UnlockReach(segment, hash, Reach::kPair);
    if (spot.found() && Has(Bug::kEraseUnlockedEarly)) PersistWord(spot.bucket);
    return spot.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
  }

  // The lookup of both variants.
  powercut_status LookupBeside(uint64_t key, uint8_t* value) {
    const Hash hash(key);
    uint64_t found = 0;
    powercut_status status = POWERCUT_NOT_FOUND;
    for (;; pmem::pause()) {
      Segment* segment = table().SegmentOf(hash);
      const bool answered = table().NeedsRecovery(segment, hash)
                                ? LookupUnrecovered(key, hash, &found, &status)
                                : table().TryLookupAs(segment, key, hash, &found, &status);
      if (answered) break;
    }
    if (status == POWERCUT_OK) std::memcpy(value, &found, sizeof found);
    return status;
  }

  bool TryLookup(Segment* segment, uint64_t key, const Hash& hash, uint64_t* value, powercut_status* status) {
    const uint32_t home = hash.bucket(bucket_mask());
    const uint32_t* mine = &segment->bucket(home)->lock;
    const uint32_t* next = &segment->bucket(Next(home))->lock;
    const uint32_t my_version = pmem::atomic_load(mine), next_version = pmem::atomic_load(next);
    if (((my_version | next_version) & Bucket::kLocked) != 0 && !Has(Bug::kReadLocked)) return false;
    if (!Has(Bug::kLookupStale) && !table().Holds(segment, hash)) return false;
    const auto unchanged = [&] {
      return pmem::atomic_load(mine) == my_version && pmem::atomic_load(next) == next_version;
    };
    const Spot spot = table().FindHeld(segment, key, hash, unchanged);
    const auto read = [&] { *value = pmem::atomic_load(&spot.bucket->record[spot.slot].value); };
    if (spot.found() && !Has(Bug::kValueAfterCheck)) read();
    if (!Has(Bug::kReadUnchecked) && (spot.found() || !Has(Bug::kMissUnchecked)) && !unchanged()) {
      pmem::mark("search.again");
      return false;
    }
    if (spot.found() && Has(Bug::kValueAfterCheck)) read();
    *status = spot.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
    return true;
  }

  // Returns the place of the key. Precondition: the caller holds the buckets of the key.
  Spot FindHeld(Segment* segment, uint64_t key, const Hash& hash) {
    return table().FindHeld(segment, key, hash, [] { return true; });
  }
  static void PersistWord(Bucket* bucket) { pmem::persist(&bucket->word, sizeof bucket->word); }

  typename Scheme::Table& table() { return static_cast<typename Scheme::Table&>(*this); }

  PoolAllocator allocator_;
  Locks locks_;

 private:
  template <typename Visit>
  void ForEachReached(const Hash& hash, Reach reach, Visit visit) const {
    const uint32_t home = hash.bucket(bucket_mask());
    if (reach == Reach::kSegment) {
      for (uint32_t b = 0; b < options_.buckets; ++b) visit(b);
    } else {
      uint32_t few[] = {home, Next(home), Previous(home), Next(Next(home))};
      const uint32_t count = reach == Reach::kPair || Has(Bug::kDisplaceUnlocked) ? 2 : 4;
      std::sort(few, few + count);
      for (uint32_t i = 0; i < count; ++i) visit(few[i]);
    }
    if (reach == Reach::kPair || !has_stash()) return;
    if (reach == Reach::kSegment || !Has(Bug::kStashUnlocked)) visit(stash_lock());
  }

  // The recovered segment of the hash, with the two buckets of its key held.
  powercut_status AcquirePair(const Hash& hash, Segment** out) {
    for (;;) {
      const powercut_status status = table().Acquire(hash, out);
      if (status != POWERCUT_OK) return status;
      LockReach(*out, hash, Reach::kPair);
      if (Has(Bug::kSegmentStale) || table().Holds(*out, hash)) return POWERCUT_OK;
      UnlockReach(*out, hash, Reach::kPair);
    }
  }

  // No other thread recovers it in the meantime. False: it has been recovered.
  bool LookupUnrecovered(uint64_t key, const Hash& hash, uint64_t* value, powercut_status* status) {
    const SpinGuard guard(Has(Bug::kUnrecoveredUnlocked) ? nullptr : LockOf(&Locks::recovery));
    if (!table().NeedsRecovery(table().SegmentOf(hash), hash)) return false;
    pmem::mark("search.unrecovered");
    return table().SearchUnrecovered(key, hash, value, status);
  }
};

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_THREAD_STEPS_H_

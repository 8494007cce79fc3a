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
//   powercut_status InsertRecord(record, hash)      the insertion, alone or beside others
//
// With items=pointer a lookup may compare an item that is free by now, or another item's. The pool stays mapped, and
// who frees an item has held the buckets of its key, and the stash if the item was there. The versions of these buckets
// are therefore what the lookup compares.
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
  using Steps::KeyOf;
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

  // Items. An item is durable before a record names it. `hardened` frees the item when, durably, no record names it any
  // more. The authors' callers make the keys durable, and nobody frees them.
  powercut_status InsertItem(Bytes key, Bytes value) {
    const Record record =
        options_.pointers ? Record{NewItem(key, value), 0} : Record{Steps::LoadWord(key), Steps::LoadWord(value)};
    if (options_.pointers && record.key == 0) return POWERCUT_FULL;
    const powercut_status status = table().InsertRecord(record, this->HashOf(this->Wanted(key)));
    if (options_.pointers && status != POWERCUT_OK) Free(record.key);
    if (options_.pointers && Has(Bug::kItemUnordered)) PersistItem(record.key);
    return status;
  }

  // The change of a record's value: one store of 8 bytes, to the value or to the pointer.
  struct Change {
    uint64_t* at = nullptr;
    uint64_t word = 0;
    uint64_t old_item = 0;
  };
  // False: the pool has no room for the item, and nothing has changed.
  bool PrepareChange(Record* record, const Key& key, Bytes value, Change* out) {
    if (!options_.pointers) {
      *out = {&record->value, Steps::LoadWord(value), 0};
      return true;
    }
    *out = {&record->key, record->key, record->key};
    if (OverwriteItem(record->key, value)) return true;
    out->word = NewItem(key.bytes, value);
    if (out->word == 0) return false;
    DO_IF (Bug::kItemFreedFirst) RetireItem(out->old_item);
    return true;
  }
  // Precondition: the change is stored, and durable.
  void FinishChange(const Change& change) {
    if (!options_.pointers || change.word == change.old_item) return;
    pmem::mark("update.switched");
    SKIP_IF (Bug::kItemFreedFirst) RetireItem(change.old_item);
    DO_IF (Bug::kItemUnordered) PersistItem(change.word);
  }
  // Whether the record's item lies in a block that has room for it.
  bool HoldsItem(const Record& record) const {
    if (!options_.pointers) return true;
    const uint64_t bytes = allocator_.BytesOf(record.key);
    const ItemView item = this->ViewItem(record.key);
    return item.key.size != 0 && ItemHeader{item.key.size, item.value.size}.bytes() <= bytes;
  }
  // The authors' callers know of no pointer that a crash has left to nobody.
  bool Sweeps() const { return options_.hardened || !options_.pointers; }
  void RetireItem(uint64_t item) {
    if (options_.pointers && options_.hardened) Free(item);
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
      if (Has(Bug::kInsertCheckApart) && table().FindIn(segment, KeyOf(record), hash).found()) return POWERCUT_EXISTS;
      LockReach(segment, hash, reach);
      const auto leave = [&] { UnlockReach(segment, hash, reach); };
      if (!Has(Bug::kInsertStale) && !table().Holds(segment, hash)) {
        leave();
        reach = Reach::kPair;
        continue;
      }
      if (!Has(Bug::kInsertCheckApart) && FindHeld(segment, KeyOf(record), hash).found()) {
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

  powercut_status UpdateBeside(const Key& key, Bytes value, const Hash& hash) {
    Segment* segment = nullptr;
    const powercut_status status = AcquirePair(hash, &segment);
    if (status != POWERCUT_OK) return status;
    const Spot spot = FindHeld(segment, key, hash);
    Change change;
    const bool full = spot.found() && !PrepareChange(&spot.bucket->record[spot.slot], key, value, &change);
    // The item is freed: a lookup of another key that searches the stash shall notice.
    const bool stashed = options_.pointers && spot.found() && spot.stash != Spot::kInPair;
    if (stashed) Lock(segment, stash_lock());
    if (spot.found() && !full) {
      pmem::atomic_store(change.at, change.word);
      DO_IF (Bug::kUpdateUnlockedEarly) UnlockReach(segment, hash, Reach::kPair);
      pmem::persist(change.at, sizeof *change.at);
      pmem::mark("update");
      DO_IF (Bug::kUpdateUnlockedEarly) return POWERCUT_OK;
    }
    if (stashed) Unlock(segment, stash_lock());
    UnlockReach(segment, hash, Reach::kPair);
    if (full) return POWERCUT_FULL;
    if (spot.found()) FinishChange(change);
    return spot.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
  }

  powercut_status EraseBeside(const Key& key, const Hash& hash) {
    Segment* segment = nullptr;
    const powercut_status status = AcquirePair(hash, &segment);
    if (status != POWERCUT_OK) return status;
    const Spot spot = FindHeld(segment, key, hash);
    const uint64_t item = spot.found() ? spot.bucket->record[spot.slot].key : 0;
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
    if (spot.found()) RetireItem(item);
    return spot.found() ? POWERCUT_OK : POWERCUT_NOT_FOUND;
  }

  // The lookup of both variants.
  powercut_status LookupBeside(const Key& key, ValueRoom* value) {
    const Hash hash = this->HashOf(key);
    powercut_status status = POWERCUT_NOT_FOUND;
    for (;; pmem::pause()) {
      Segment* segment = table().SegmentOf(hash);
      const bool answered = table().NeedsRecovery(segment, hash)
                                ? LookupUnrecovered(key, hash, value, &status)
                                : table().TryLookupAs(segment, key, hash, value, &status);
      if (answered) return status;
    }
  }

  bool TryLookup(Segment* segment, const Key& key, const Hash& hash, ValueRoom* value, powercut_status* status) {
    const uint32_t home = hash.bucket(bucket_mask());
    const uint32_t* mine = &segment->bucket(home)->lock;
    const uint32_t* next = &segment->bucket(Next(home))->lock;
    const uint32_t* stash = options_.pointers && has_stash() ? &segment->bucket(stash_lock())->lock : mine;
    const uint32_t my_version = pmem::atomic_load(mine), next_version = pmem::atomic_load(next);
    const uint32_t stash_version = stash == mine ? my_version : pmem::atomic_load(stash);
    if (((my_version | next_version | stash_version) & Bucket::kLocked) != 0 && !Has(Bug::kReadLocked)) return false;
    if (!Has(Bug::kLookupStale) && !table().Holds(segment, hash)) return false;
    const auto unchanged = [&] {
      return pmem::atomic_load(mine) == my_version && pmem::atomic_load(next) == next_version &&
             (stash == mine || pmem::atomic_load(stash) == stash_version);
    };
    const Spot spot = table().FindHeld(segment, key, hash, unchanged);
    const auto read = [&] { this->PutValue(spot.bucket->record[spot.slot], value); };
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
  Spot FindHeld(Segment* segment, const Key& key, const Hash& hash) {
    return table().FindHeld(segment, key, hash, [] { return true; });
  }
  static void PersistWord(Bucket* bucket) { pmem::persist(&bucket->word, sizeof bucket->word); }

  typename Scheme::Table& table() { return static_cast<typename Scheme::Table&>(*this); }

  PoolAllocator allocator_;
  Locks locks_;

 private:
  // Returns the pool offset of the item; 0: the pool is full.
  uint64_t NewItem(Bytes key, Bytes value) {
    const ItemHeader sizes{key.size, value.size};
    const uint64_t offset = Allocate(sizes.bytes());
    if (offset == 0) return 0;
    ItemHeader* header = this->ItemAt(offset);
    *header = sizes;
    value.CopyTo(key.CopyTo(header + 1));
    SKIP_IF (Bug::kItemUnordered) PersistItem(offset);
    pmem::mark("item.made");
    return offset;
  }
  void PersistItem(uint64_t item) const {
    const ItemHeader* header = this->ItemAt(item);
    pmem::persist(header, Has(Bug::kItemFirstLine) ? sizeof *header : header->bytes());
  }

  // Planted bugs alone: a value in the place of the old one, where its block has room. No order of size and bytes is
  // right.
  bool OverwriteItem(uint64_t item, Bytes value) {
    ItemHeader* header = this->ItemAt(item);
    const bool grows = value.size > header->value_size;
    if (!(grows ? Has(Bug::kGrownInPlace) : Has(Bug::kShrunkInPlace) || Has(Bug::kSizeUnflushed))) return false;
    if (ItemHeader{header->key_size, value.size}.bytes() > allocator_.BytesOf(item)) return false;
    uint8_t* bytes = header->data() + header->key_size;
    DO_IF (Bug::kGrownInPlace) this->StoreSize(&header->value_size, value.size, /*flush=*/true);
    value.CopyTo(bytes);
    pmem::persist(bytes, value.size);
    SKIP_IF (Bug::kGrownInPlace) this->StoreSize(&header->value_size, value.size, !Has(Bug::kSizeUnflushed));
    return true;
  }
  static void StoreSize(uint32_t* word, uint32_t size, bool flush) {
    pmem::atomic_store(word, size);
    if (flush) pmem::persist(word, sizeof *word);
  }

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
  bool LookupUnrecovered(const Key& key, const Hash& hash, ValueRoom* value, powercut_status* status) {
    const SpinGuard guard(Has(Bug::kUnrecoveredUnlocked) ? nullptr : LockOf(&Locks::recovery));
    if (!table().NeedsRecovery(table().SegmentOf(hash), hash)) return false;
    pmem::mark("search.unrecovered");
    return table().SearchUnrecovered(key, hash, value, status);
  }
};

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_THREAD_STEPS_H_

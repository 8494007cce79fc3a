// Operations beside other threads: the locks of a key's two buckets, and libcuckoo's insertion. The insertion searches
// for a path without locks and checks each step again before the step is taken. The functions named come from the
// authors' cuckoohash_map.hh.
#include <new>

#include "targets/common/cuckoo/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cuckoo {

// From now on operations lock. False: no memory.
bool Table::Share() {
  locks_.reset(new (std::nothrow) Locks);
  if (locks_ == nullptr) return false;
  locks_->SetTable(TableNumber());
  DO_IF (Bug::kLockNotAtomic) locks_->TakeByLoadAndStore();
  // The last byte of a header, where a bucket of up to 6 slots has no tag.
  DO_IF (Bug::kLockInPool) locks_->LieInPool(arrays_[0].base + 7, geometry_.bucket.stride, Buckets(arrays_[0]));
  return true;
}

uint32_t Table::StripesOf(uint64_t table, const Probe& probe) const {
  if (table >= kSecondArray) return Locks::kAll;
  const SlotArray shape{.mask = (uint64_t{1} << table) - 1};
  return Locks::StripeOf(Home(shape, probe, 0)) | Locks::StripeOf(Home(shape, probe, 1));
}

// snapshot_and_lock_two: which buckets are the key's depends on the table, and the table may be replaced until one of
// its stripes is held.
void Table::LockBuckets(const uint8_t* key, StripeGuard* guard) const {
  const Locks* locks = guard->locks();
  if (locks == nullptr) return;
  const Probe probe = ProbeOf(key);
  for (;;) {
    const uint64_t table = locks->table();
    guard->Lock(StripesOf(table, probe));
    if (locks->table() == table) return;
    guard->Unlock();
  }
}

powercut_status Table::InsertBesideOthers(const Item& item) {
  const Probe probe = ProbeOf(item.bytes);
  for (;;) {
    if (Has(Bug::kExistsUnlocked) && Find(item.bytes).found()) return POWERCUT_EXISTS;
    StripeGuard guard(locks_.get());
    LockBuckets(item.bytes, &guard);
    if (Find(item.bytes).found()) return POWERCUT_EXISTS;
    DO_IF (Bug::kInsertCheckApart) guard.Unlock();
    DO_IF (Bug::kInsertCheckApart) LockBuckets(item.bytes, &guard);
    const uint64_t table = locks_->table();
    const bool stuck = table >= kSecondArray;  // all stripes are held
    if (stuck ? PlaceItem(&arrays_[0], item) : PlaceInBuckets(&arrays_[0], item, probe)) return POWERCUT_OK;

    // Everything is let go of, so that the search holds nobody up and the movements can lock in order.
    const SlotArray array = arrays_[0];
    Path path;
    bool found = false;
    if (!stuck) {
      locks_->BeginSearch();
      guard.Unlock();
      found = FindPath(&array, probe, &path);
      locks_->EndSearch();
    }
    guard.Unlock();
    if (!found) {
      if (!options_.auto_expand) return POWERCUT_FULL;
      const powercut_status status = ExpandFrom(table);
      if (status != POWERCUT_OK) return status;
      continue;
    }
    const SlotArray* to = Has(Bug::kResizeUnnoticed) ? &array : &arrays_[0];
    if (!MoveAlong(path, to, table, probe, &guard)) continue;
    // While nothing was locked another thread may have inserted the key.
    if (!Has(Bug::kPathKeyStale) && Find(item.bytes).found()) return POWERCUT_EXISTS;
    Fill({to, path.step[0].index, path.step[0].slot}, item, probe, Bug::kPathEndUnordered);
    return POWERCUT_OK;
  }
}

// cuckoopath_move: moves items from the end of the path backwards. Each step runs under the locks of its two buckets;
// the last step holds the locks of the new item's buckets as well. Returns true if the first slot of the path is free;
// the locks of the last step are held then. Returns false if a step no longer fits; no lock is held then.
bool Table::MoveAlong(const Path& path, const SlotArray* array, uint64_t table, const Probe& probe,
                      StripeGuard* guard) {
  pmem::mark(path.length > 2 ? "insert.path" : "insert.evict");
  const uint32_t buckets = StripesOf(table, probe);
  for (uint32_t i = path.length - 1; i > 0; --i) {
    const Place from{array, path.step[i - 1].index, path.step[i - 1].slot};
    const Place to{array, path.step[i].index, path.step[i].slot};
    const uint32_t last = i == 1 ? buckets : 0;
    const uint32_t target = Has(Bug::kMoveLocksOne) ? 0 : Locks::StripeOf(to.index);
    guard->Lock(last | Locks::StripeOf(from.index) | target);
    if (!Has(Bug::kResizeUnnoticed) && locks_->table() != table) break;
    if (!Has(Bug::kPathStale) && !Fits(from, to)) break;
    Move(from, to, Bug::kMoveClearFirst, "evict.step");
    if (i == 1) {
      DO_IF (Bug::kPathEndUnlocked) guard->Unlock();
      DO_IF (Bug::kPathEndUnlocked) guard->Lock(buckets);
      return true;
    }
    guard->Unlock();
  }
  pmem::mark("path.stale");
  guard->Unlock();
  return false;
}

// Is there still an item that can go from one slot to the other? It may be another one than the search saw.
bool Table::Fits(const Place& from, const Place& to) const {
  return HasToken(from) && !HasToken(to) && Alternative(from) == to.index;
}

// Expand() for an insert that found no place; does nothing where the table is another one by now.
powercut_status Table::ExpandFrom(uint64_t table) {
  const ResizeGuard guard(locks_.get());
  return locks_->table() == table ? Expand() : POWERCUT_OK;
}

// Search, a bucket after the other (a planted bug).
powercut_status Table::LookupBucketwise(const uint8_t* key, uint8_t* value) {
  const Probe probe = ProbeOf(key);
  powercut_status status = POWERCUT_NOT_FOUND;
  auto copy = [&](const Place& place) {
    std::memcpy(value, SlotAt(place) + geometry_.key_size, geometry_.value_size);
    status = POWERCUT_OK;
    return true;
  };
  for (int which = 0; which < 2 && status != POWERCUT_OK; ++which) {
    const Place bucket{&arrays_[0], Home(arrays_[0], probe, which), 0};
    StripeGuard guard(locks_.get());
    guard.Lock(Locks::StripeOf(bucket.index));
    VisitBucket(bucket, key, probe, copy);
  }
  return status;
}

}  // namespace powercut::cuckoo

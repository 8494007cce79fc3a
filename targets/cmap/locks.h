// Locks that keep the threads of one open table apart (concurrency=concurrent; README.md, "Threads"): reader/writer
// locks of one word. The locks of buckets and nodes lie in the pool, as in the source.
//
// Order. A thread waits for a bucket only while it holds no bucket, or a descendant of the bucket: rehashing goes from
// a bucket to its parent. A thread waits for a node while it holds the node's bucket; a holder of a node waits for no
// bucket. The locks of growth, transaction and allocator come last, in this order.
#ifndef POWERCUT_TARGETS_CMAP_LOCKS_H_
#define POWERCUT_TARGETS_CMAP_LOCKS_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "targets/cmap/layout.h"
#include "targets/cmap/options.h"

namespace powercut::cmap {

class Table;

// The word of a lock: 0 is free; other values are the number of readers, or kWriter.
inline constexpr uint64_t kFree = 0, kOneReader = 1, kWriter = ~uint64_t{0};

inline bool TryLock(uint64_t* lock, uint64_t from, uint64_t to) {
  return __atomic_compare_exchange_n(lock, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

inline void LockAlone(uint64_t* lock) {
  while (!TryLock(lock, kFree, kWriter)) {
    while (pmem::atomic_load(lock) != kFree) pmem::pause();
  }
}

// A planted bug: the lock is taken by a load and a store.
inline void LockAloneByStore(uint64_t* lock) {
  while (pmem::atomic_load(lock) != kFree) pmem::pause();
  pmem::atomic_store(lock, kWriter);
}

inline void LockShared(uint64_t* lock) {
  for (;;) {
    const uint64_t seen = pmem::atomic_load(lock);
    if (seen == kWriter) {
      pmem::pause();
    } else if (TryLock(lock, seen, seen + kOneReader)) {
      return;
    }
  }
}

inline void Unlock(uint64_t* lock, bool alone) {
  if (alone) {
    pmem::atomic_store(lock, kFree);
  } else {
    __atomic_fetch_sub(lock, kOneReader, __ATOMIC_RELEASE);
  }
}

// Changes the caller from reader to writer. Returns false if the lock was free in between.
inline bool Upgrade(uint64_t* lock) {
  if (TryLock(lock, kOneReader, kWriter)) return true;
  Unlock(lock, /*alone=*/false);
  LockAlone(lock);
  return false;
}

// Holds a lock for a scope; none where there is nobody to keep away (null).
class LockGuard {
 public:
  explicit LockGuard(uint64_t* lock, bool alone = true) : lock_(lock), alone_(alone) {
    if (lock_ == nullptr) return;
    if (alone_) {
      LockAlone(lock_);
    } else {
      LockShared(lock_);
    }
  }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;
  ~LockGuard() { Release(); }
  void Release() {
    if (lock_ != nullptr) Unlock(lock_, alone_);
    lock_ = nullptr;
  }

 private:
  uint64_t* lock_;
  bool alone_;
};

// The bucket of a hash, found, rehashed if need be, and locked (bucket_accessor). With one thread nothing is locked.
class BucketLock {
 public:
  explicit BucketLock(Table* table) : table_(table) {}
  BucketLock(const BucketLock&) = delete;
  BucketLock& operator=(const BucketLock&) = delete;
  ~BucketLock() { Release(); }

  // Takes the bucket's lock: shared, or alone if the bucket had to be rehashed. Precondition: this object holds no
  // lock.
  void Acquire(uint64_t index);
  // Returns false if the lock was free in between; the caller must then search the chain again.
  bool BecomeWriter();
  void Release();

  // The bucket that holds the items of bucket `index`: itself, or an ancestor where there was no room to rehash it.
  Bucket* bucket() const { return bucket_; }
  bool rehashed() const { return holder_ == index_; }

 private:
  bool Has(Bug bug) const;
  bool UpgradeByStore();
  void Rehash();
  bool MoveItems(BucketLock* parent);

  Table* table_;
  Bucket* bucket_ = nullptr;
  // The locks from index_ up to holder_ are held: the last lock alone or shared, all others alone.
  uint64_t index_ = 0, holder_ = 0;
  bool held_ = false;
  bool alone_ = false;
};

}  // namespace powercut::cmap
#endif  // POWERCUT_TARGETS_CMAP_LOCKS_H_

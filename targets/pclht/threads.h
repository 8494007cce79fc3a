// The volatile state that the threads of one open table share (concurrency=concurrent; README.md, "Threads"). The state
// holds the versions of the table, with the number of operations in each, and locks that no cut can leave held. The
// locks of buckets and of the root lie in the pool, as in the authors' code.
#ifndef POWERCUT_TARGETS_PCLHT_THREADS_H_
#define POWERCUT_TARGETS_PCLHT_THREADS_H_

#include <cstdint>
#include <new>

#include "powercut/pmem.h"
#include "targets/common/spin_guard.h"
#include "targets/pclht/layout.h"

namespace powercut::pclht {

// CAS_U8: returns the lock's old value. The lock was taken if and only if the old value is kLockFree.
inline uint8_t TryLock(uint8_t* lock, uint8_t value) {
  uint8_t seen = kLockFree;
  __atomic_compare_exchange_n(lock, &seen, value, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  return seen;
}

// A table from its publication until it is freed. The records stay until the handle is closed, so that one may always
// be looked at.
struct Version {
  enum Help : uint8_t { kNotWanted, kWanted, kGiven, kDone };

  uint64_t table;           // offset
  uint64_t users = 0;       // operations that may read it
  Version* next = nullptr;  // the version that replaced it

  // The resize that copies this version. One thread helps at most (ht_resize_help): `help` goes from kWanted to kGiven.
  uint64_t copy = 0;  // offset of the new table
  uint8_t help = kNotWanted;
  uint8_t full = 0;  // the helper found no room
};

class Threads {
 public:
  // Null: no memory.
  static Threads* Make(uint64_t table) {
    auto* first = new (std::nothrow) Version{.table = table};
    if (first == nullptr) return nullptr;
    auto* threads = new (std::nothrow) Threads(first);
    if (threads == nullptr) delete first;
    return threads;
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    for (Version* version = first_; version != nullptr;) {
      Version* next = version->next;
      delete version;
      version = next;
    }
  }

  // Sequentially consistent, as all that decides whether a version is in use.
  Version* newest() const { return __atomic_load_n(&newest_, __ATOMIC_SEQ_CST); }
  static bool Used(const Version& version) { return __atomic_load_n(&version.users, __ATOMIC_SEQ_CST) != 0; }

  // Returns the newest version, which will not be freed before Leave(). A thread counts itself in and then checks that
  // the version is still the newest. The count therefore precedes the version's replacement, and precedes any check
  // that finds the version unused.
  Version* Enter() {
    for (;;) {
      Version* version = newest();
      __atomic_fetch_add(&version->users, uint64_t{1}, __ATOMIC_SEQ_CST);
      if (newest() == version) return version;
      Leave(version);
    }
  }
  void Leave(Version* version) { __atomic_fetch_sub(&version->users, uint64_t{1}, __ATOMIC_SEQ_CST); }

  // Precondition: the caller holds the root's resize lock. An exchange, so that users are counted after it.
  void Replace(Version* by) {
    pmem::atomic_store(&newest()->next, by);
    __atomic_exchange_n(&newest_, by, __ATOMIC_SEQ_CST);
  }

  Version* oldest;  // not freed; of who holds the root's gc_lock
  uint8_t allocator_lock = 0;
  uint8_t zero_lock = 0;  // of the item whose key is 0

 private:
  explicit Threads(Version* first) : oldest(first), first_(first), newest_(first) {}

  Version* first_;
  Version* newest_;
};

// An operation's stay in a version. `threads` null: one thread, which nothing is freed under.
class Stay {
 public:
  explicit Stay(Threads* threads) : threads_(threads), version_(threads == nullptr ? nullptr : threads->Enter()) {}
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  ~Stay() {
    if (threads_ != nullptr) threads_->Leave(version_);
  }

  Version* version() const { return version_; }
  // Goes on in the newest version.
  void Renew() {
    if (threads_ == nullptr) return;
    threads_->Leave(version_);
    version_ = threads_->Enter();
  }

 private:
  Threads* threads_;
  Version* version_;
};

}  // namespace powercut::pclht
#endif  // POWERCUT_TARGETS_PCLHT_THREADS_H_

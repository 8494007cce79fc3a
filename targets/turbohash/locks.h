// Volatile synchronisation of threads (3.1, 3.6): the write lock of a shard, and the epochs of its readers. With one
// thread there are no locks and epochs, and the guards below do nothing.
#ifndef POWERCUT_TARGETS_TURBOHASH_LOCKS_H_
#define POWERCUT_TARGETS_TURBOHASH_LOCKS_H_

#include <cstdint>

#include "powercut/pmem.h"

namespace powercut::turbohash {

// A spin lock: 1 while a writer holds it. Readers never take one.
using LockWord = uint32_t;

inline bool IsHeld(const LockWord* word) { return pmem::atomic_load(word) != 0; }

class WriteLock {
 public:
  WriteLock() = default;
  // Null: no lock.
  explicit WriteLock(LockWord* word) { Take(word); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
  ~WriteLock() { Release(); }

  // Precondition: this guard holds `word` or nothing.
  void Take(LockWord* word) {
    if (word == nullptr || word_ != nullptr) return;
    for (;;) {
      LockWord free = 0;
      if (__atomic_compare_exchange_n(word, &free, LockWord{1}, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) break;
      while (IsHeld(word)) pmem::pause();
    }
    word_ = word;
  }

  // Precondition: this guard holds nothing. False where somebody holds `word`.
  bool TryTake(LockWord* word) {
    LockWord free = 0;
    if (IsHeld(word) ||
        !__atomic_compare_exchange_n(word, &free, LockWord{1}, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      return false;
    }
    word_ = word;
    return true;
  }

  void Release() {
    if (word_ == nullptr) return;
    pmem::atomic_store(word_, LockWord{0});
    word_ = nullptr;
  }

 private:
  LockWord* word_ = nullptr;
};

// The readers of one shard. There are two ways to learn when memory that no new reader can reach may be reused; a table
// uses one of them. AwaitReaders returns then. HavePassed says so of the epoch that Now returned behind the unlinking.
class Epochs {
 public:
  // Precondition: the caller holds the shard's write lock. Earlier readers are counted under the old epoch. Readers
  // that come from now on are counted under the new epoch, so they do not keep the writer waiting.
  void AwaitReaders() {
    // Sequentially consistent: either the reader sees the new epoch, or we see the reader.
    const uint32_t old = __atomic_fetch_add(&epoch_, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&readers_[old & 1], __ATOMIC_SEQ_CST) != 0) pmem::pause();
  }

  // The epoch of readers that may have seen what was unlinked before. A locked instruction: the unlinking is visible
  // before the epoch is read. A plain load might pass the store that unlinks, and a reader of the next epoch see the
  // memory.
  uint32_t Now() { return __atomic_fetch_add(&epoch_, 0, __ATOMIC_SEQ_CST); }
  // Begins a new epoch if no reader of the epoch before this one is left. Any number of threads may try.
  void TryAdvance() {
    uint32_t epoch = __atomic_load_n(&epoch_, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&readers_[(epoch - 1) & 1], __ATOMIC_SEQ_CST) != 0) return;
    __atomic_compare_exchange_n(&epoch_, &epoch, epoch + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  }
  // Have all readers left that came in this epoch or before? No reader of the epoch before the last one is left, or
  // the last one would not have begun.
  bool HavePassed(uint32_t epoch) const {
    const uint32_t age = __atomic_load_n(&epoch_, __ATOMIC_SEQ_CST) - epoch;
    return age >= 2 || (age == 1 && __atomic_load_n(&readers_[epoch & 1], __ATOMIC_SEQ_CST) == 0);
  }

 private:
  friend class ReadEpoch;
  uint32_t epoch_ = 0;
  uint32_t readers_[2] = {};  // by the low bit of the epoch that they came in
};

class ReadEpoch {
 public:
  explicit ReadEpoch(Epochs* epochs) {
    for (;;) {
      const uint32_t epoch = __atomic_load_n(&epochs->epoch_, __ATOMIC_SEQ_CST);
      readers_ = &epochs->readers_[epoch & 1];
      __atomic_fetch_add(readers_, 1, __ATOMIC_SEQ_CST);
      // Had the epoch changed before we were counted, its writer would not wait for us.
      if (__atomic_load_n(&epochs->epoch_, __ATOMIC_SEQ_CST) == epoch) return;
      __atomic_fetch_sub(readers_, 1, __ATOMIC_RELEASE);
    }
  }
  ReadEpoch(const ReadEpoch&) = delete;
  ReadEpoch& operator=(const ReadEpoch&) = delete;
  ~ReadEpoch() { __atomic_fetch_sub(readers_, 1, __ATOMIC_RELEASE); }

 private:
  uint32_t* readers_;
};

// Beside the mirror of a shard.
struct ShardGate {
  LockWord writer = 0;
  Epochs readers;
};

}  // namespace powercut::turbohash
#endif  // POWERCUT_TARGETS_TURBOHASH_LOCKS_H_

// Striped locks of buckets keep the threads of one open table apart (concurrency=concurrent; ../../libcuckoo/README.md,
// "Threads"). An operation holds the stripes of the buckets that it reads and changes; a resize holds all stripes.
//
// Order. A thread waits for a stripe only while it holds no stripe of a higher number. A thread takes the undo log's
// lock only after its stripes. A thread waits for the end of searches only while it holds all stripes; a search waits
// for nothing.
//
// All locks are volatile: a power cut leaves no lock held, and open begins with free locks.
#ifndef POWERCUT_TARGETS_COMMON_CUCKOO_LOCKS_H_
#define POWERCUT_TARGETS_COMMON_CUCKOO_LOCKS_H_

#include <bit>
#include <cstdint>

#include "powercut/pmem.h"
#include "targets/common/spin_guard.h"

namespace powercut::cuckoo {

class Locks {
 public:
  static constexpr uint32_t kStripes = 16;
  static constexpr uint32_t kAll = (1u << kStripes) - 1;

  // A set of one stripe.
  static uint32_t StripeOf(uint64_t bucket) { return 1u << (bucket % kStripes); }

  void Lock(uint32_t set) {
    for (; set != 0; set &= set - 1) LockStripe(WordOf(static_cast<uint32_t>(std::countr_zero(set))));
  }
  void Unlock(uint32_t set) {
    for (; set != 0; set &= set - 1) {
      pmem::atomic_store(WordOf(static_cast<uint32_t>(std::countr_zero(set))), uint8_t{0});
    }
  }

  // A number that names the present slot arrays. The number changes under all stripes.
  uint64_t table() const { return pmem::atomic_load(&table_); }
  void SetTable(uint64_t table) { pmem::atomic_store(&table_, table); }

  // A search reads headers without a lock. Precondition of BeginSearch: the caller holds a stripe, so that no resize is
  // under way.
  void BeginSearch() { __atomic_fetch_add(&searches_, uint64_t{1}, __ATOMIC_ACQ_REL); }
  void EndSearch() { __atomic_fetch_sub(&searches_, uint64_t{1}, __ATOMIC_RELEASE); }
  // Waits until all searches have ended. Precondition: the caller holds all stripes, so that no search begins.
  void AwaitSearches() const {
    while (pmem::atomic_load(&searches_) != 0) pmem::pause();
  }

  uint8_t* undo_log() { return &undo_log_; }

  // Planted bugs.
  void TakeByLoadAndStore() { load_and_store_ = true; }
  void LieInPool(uint8_t* first, uint32_t pitch, uint64_t count) {
    pool_words_ = first;
    pool_pitch_ = pitch;
    pool_count_ = count;
  }

 private:
  uint8_t* WordOf(uint32_t stripe) {
    return stripe < pool_count_ ? pool_words_ + stripe * pool_pitch_ : &stripes_[stripe];
  }
  void LockStripe(uint8_t* word) {
    if (!load_and_store_) return LockSpin(word);
    while (pmem::atomic_load(word) != 0) pmem::pause();
    pmem::atomic_store(word, uint8_t{1});
  }

  uint64_t table_ = 0;
  uint64_t searches_ = 0;  // under way
  uint8_t stripes_[kStripes] = {};
  uint8_t undo_log_ = 0;  // the pool has one undo log
  bool load_and_store_ = false;
  uint8_t* pool_words_ = nullptr;
  uint64_t pool_pitch_ = 0, pool_count_ = 0;
};

// The stripes that one operation holds. `locks` null: everything is the caller's (one thread, recovery).
class StripeGuard {
 public:
  explicit StripeGuard(Locks* locks) : locks_(locks) {}
  StripeGuard(const StripeGuard&) = delete;
  StripeGuard& operator=(const StripeGuard&) = delete;
  ~StripeGuard() { Unlock(); }

  // Precondition: it holds none.
  void Lock(uint32_t set) {
    if (locks_ == nullptr) return;
    locks_->Lock(set);
    held_ = set;
  }
  void Unlock() {
    if (held_ != 0) locks_->Unlock(held_);
    held_ = 0;
  }
  Locks* locks() const { return locks_; }

 private:
  Locks* locks_;
  uint32_t held_ = 0;
};

// No operation is under way, nor a search for a path, while it exists. Null: there is nobody to keep away.
class ResizeGuard {
 public:
  explicit ResizeGuard(Locks* locks) : locks_(locks) {
    if (locks_ == nullptr) return;
    locks_->Lock(Locks::kAll);
    locks_->AwaitSearches();
  }
  ResizeGuard(const ResizeGuard&) = delete;
  ResizeGuard& operator=(const ResizeGuard&) = delete;
  ~ResizeGuard() {
    if (locks_ != nullptr) locks_->Unlock(Locks::kAll);
  }

 private:
  Locks* locks_;
};

// Gives up what a ResizeGuard holds, for a scope (a planted bug).
class ResizePause {
 public:
  explicit ResizePause(Locks* locks) : locks_(locks) {
    if (locks_ != nullptr) locks_->Unlock(Locks::kAll);
  }
  ResizePause(const ResizePause&) = delete;
  ResizePause& operator=(const ResizePause&) = delete;
  ~ResizePause() {
    if (locks_ == nullptr) return;
    locks_->Lock(Locks::kAll);
    locks_->AwaitSearches();
  }

 private:
  Locks* locks_;
};

}  // namespace powercut::cuckoo
#endif  // POWERCUT_TARGETS_COMMON_CUCKOO_LOCKS_H_

// Locks that keep the threads of one open table apart (concurrency=concurrent; README.md, "Threads"). Two kinds of
// locks:
//
//   stripes   an operation holds the stripe of its key. `published` shares it, so that it keeps resizes away and no
//             more; `hardened` holds it alone, so that it guards the item as well. A resize holds all stripes.
//   slots     a lock a slot (OSDI'18, 3.4). A slot is read and written, and its token changed, under its lock.
//
// Order. A thread waits for a stripe only while it holds no slot and no stripe of a higher number; out of this order it
// may try. The first locked slot of a thread has a set token. The thread waits for a second slot only if it has seen
// the second slot's token clear since it locked the first. A ring of waiting threads is thus impossible: each slot of
// the ring would have been locked before the next slot.
//
// All locks are volatile: a power cut leaves no lock held, and open begins with free locks.
#ifndef POWERCUT_TARGETS_LEVEL_LOCKS_H_
#define POWERCUT_TARGETS_LEVEL_LOCKS_H_

#include <bit>
#include <cstdint>
#include <memory>
#include <new>

#include "powercut/pmem.h"
#include "targets/common/spin_guard.h"
#include "targets/level/hash.h"
#include "targets/level/layout.h"

namespace powercut::level {

class Locks {
 public:
  static constexpr uint32_t kStripes = 16;
  static constexpr uint64_t kAlone = ~uint64_t{0};  // a stripe's word: this, or how many threads share it

  // `share_stripes`: what an operation does to the stripe of its key.
  explicit Locks(bool share_stripes) : share_stripes_(share_stripes) {}

  // The top bits: those at the bottom choose the bucket.
  static uint32_t StripeOf(const Probe& probe) { return static_cast<uint32_t>(probe.hash[0] >> 60); }

  // Makes the locks of a level's slots; they stay until another level has its descriptor. False: no memory.
  bool Cover(const Level& level, uint32_t slots) {
    slots_[level.descriptor].reset(new (std::nothrow) uint8_t[level.buckets() * slots]{});
    return slots_[level.descriptor] != nullptr;
  }

  uint8_t* slot(const Level& level, uint64_t number) { return &slots_[level.descriptor][number]; }
  uint8_t* undo_log() { return &undo_log_; }
  uint8_t* memory() { return &memory_; }
  bool share_stripes() const { return share_stripes_; }

  bool TryStripe(uint32_t stripe) {
    uint64_t free = 0;
    return __atomic_compare_exchange_n(&stripes_[stripe], &free, kAlone, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }
  void LockStripe(uint32_t stripe) {
    while (!TryStripe(stripe)) {
      while (pmem::atomic_load(&stripes_[stripe]) != 0) pmem::pause();
    }
  }
  void UnlockStripe(uint32_t stripe) { pmem::atomic_store(&stripes_[stripe], uint64_t{0}); }

  void LockAll() {
    for (uint32_t stripe = 0; stripe < kStripes; ++stripe) LockStripe(stripe);
  }
  void UnlockAll() {
    for (uint32_t stripe = 0; stripe < kStripes; ++stripe) UnlockStripe(stripe);
  }

  // Beside others that share it.
  void ShareStripe(uint32_t stripe) {
    uint64_t* word = &stripes_[stripe];
    while (true) {
      uint64_t seen = pmem::atomic_load(word);
      if (seen == kAlone) {
        pmem::pause();
      } else if (__atomic_compare_exchange_n(word, &seen, seen + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
      }
    }
  }
  void UnshareStripe(uint32_t stripe) { __atomic_fetch_sub(&stripes_[stripe], uint64_t{1}, __ATOMIC_RELEASE); }

 private:
  uint64_t stripes_[kStripes] = {};
  std::unique_ptr<uint8_t[]> slots_[kDescriptors];  // by descriptor, a byte a slot
  uint8_t undo_log_ = 0;                            // the pool has one undo log
  uint8_t memory_ = 0;                              // the allocator, where items lie out of the table
  bool share_stripes_;
};

// The stripes that one operation holds.
class Access {
 public:
  static constexpr int kNone = -1;

  // Everything is the caller's: one thread, recovery, a resize.
  Access() = default;
  // `locks` null: as above. `also` is a stripe that an earlier attempt wanted(), or kNone.
  Access(Locks* locks, const Probe& probe, int also = kNone)
      : locks_(locks), wish_(1u << Locks::StripeOf(probe) | (also == kNone ? 0 : 1u << also)) {
    Acquire();
  }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  ~Access() { Release(); }

  bool alone() const { return locks_ == nullptr; }
  // The paper's protocol: slot locks guard slots, and nothing guards an item.
  bool slots_only() const { return locks_ != nullptr && locks_->share_stripes(); }

  // Returns whether the operation may change another item, with the hashes of `probe`. Never waits; the operation keeps
  // a stripe that Own() takes.
  bool Own(const Probe& probe) {
    if (locks_ == nullptr || locks_->share_stripes()) return true;
    const uint32_t stripe = Locks::StripeOf(probe);
    if ((held_ >> stripe & 1) != 0) return true;
    if (!locks_->TryStripe(stripe)) {
      wanted_ = static_cast<int>(stripe);
      return false;
    }
    held_ |= 1u << stripe;
    return true;
  }
  // A stripe that Own() did not get, or kNone: begin again with it.
  int wanted() const { return wanted_; }

  void Acquire() {
    if (locks_ == nullptr) return;
    for (uint32_t stripe = 0; stripe < Locks::kStripes; ++stripe) {
      if ((wish_ >> stripe & 1) == 0) continue;
      if (locks_->share_stripes()) {
        locks_->ShareStripe(stripe);
      } else {
        locks_->LockStripe(stripe);
      }
      held_ |= 1u << stripe;
    }
  }
  void Release() {
    for (; held_ != 0; held_ &= held_ - 1) {
      const auto stripe = static_cast<uint32_t>(std::countr_zero(held_));
      if (locks_->share_stripes()) {
        locks_->UnshareStripe(stripe);
      } else {
        locks_->UnlockStripe(stripe);
      }
    }
  }

 private:
  Locks* locks_ = nullptr;
  uint32_t wish_ = 0, held_ = 0;  // sets of stripes
  int wanted_ = kNone;
};

// The resize lock: no operation is under way while it is held. Null: there is nobody to keep away.
class ResizeGuard {
 public:
  explicit ResizeGuard(Locks* locks) : locks_(locks) {
    if (locks_ != nullptr) locks_->LockAll();
  }
  ResizeGuard(const ResizeGuard&) = delete;
  ResizeGuard& operator=(const ResizeGuard&) = delete;
  ~ResizeGuard() {
    if (locks_ != nullptr) locks_->UnlockAll();
  }

 private:
  Locks* locks_;
};

// Gives the resize lock up for a scope (a planted bug).
class ResizePause {
 public:
  explicit ResizePause(Locks* locks) : locks_(locks) {
    if (locks_ != nullptr) locks_->UnlockAll();
  }
  ResizePause(const ResizePause&) = delete;
  ResizePause& operator=(const ResizePause&) = delete;
  ~ResizePause() {
    if (locks_ != nullptr) locks_->LockAll();
  }

 private:
  Locks* locks_;
};

}  // namespace powercut::level
#endif  // POWERCUT_TARGETS_LEVEL_LOCKS_H_

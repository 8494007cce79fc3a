// A writer's lane: the log of what the writer has under way, its chunk of the heap, and its garbage pool. PMDK has the
// name. With allocator=shared there is one lane, and who holds the lane has the heap as well. With allocator=threads
// each writer takes a lane of its own, and the heap has another lock.
//
// Order of locks: a shard's, a lane, the heap's. A writer waits for readers while it holds them: a reader in its epoch
// waits for nobody.
#ifndef POWERCUT_TARGETS_TURBOHASH_LANES_H_
#define POWERCUT_TARGETS_TURBOHASH_LANES_H_

#include <cstdint>

#include "targets/common/known_by_stack.h"
#include "targets/turbohash/layout.h"
#include "targets/turbohash/locks.h"

namespace powercut::turbohash {

// A cell or a block that nothing names any more, while readers of `shard` may still be in it (3.6).
struct Garbage {
  uint64_t offset;
  uint64_t shard;
  uint32_t epoch;  // readers that came after this epoch never see it
};

// The volatile part of a lane; its log lies in the pool.
struct Lane {
  static constexpr uint32_t kMostGarbage = 8;

  LockWord busy = 0;
  uint8_t number = 0;
  LaneLog* log = nullptr;
  uint64_t chunk = 0;  // pool offset of the chunk that cells are taken from, or 0
  uint32_t undo_count = 0;
  uint32_t garbage_count = 0;
  Garbage garbage[kMostGarbage];
};

class Lanes {
 public:
  Lanes(uint32_t count, const void* home) : count_(count), threads_(home) {
    for (uint32_t i = 0; i < kLanes; ++i) lanes_[i].number = static_cast<uint8_t>(i);
  }

  Lane* begin() { return lanes_; }
  Lane* end() { return lanes_ + count_; }
  const Lane* begin() const { return lanes_; }
  const Lane* end() const { return lanes_ + count_; }
  uint32_t count() const { return count_; }
  // The lane's own lock protects the heap where there is one lane.
  LockWord* heap() { return count_ == 1 ? nullptr : &heap_; }

  // Takes a lane with `guard`: the one that the thread with this place on its stack had before, if it is free.
  Lane* Take(WriteLock* guard, const void* stack) {
    if (count_ == 1) {
      guard->Take(&lanes_[0].busy);
      return &lanes_[0];
    }
    const uint32_t wish = threads_.Among(count_, stack);
    for (;;) {
      for (uint32_t i = 0; i < count_; ++i) {
        Lane* lane = &lanes_[(wish + i) % count_];
        if (guard->TryTake(&lane->busy)) return lane;
      }
      pmem::pause();
    }
  }

 private:
  uint32_t count_;
  KnownByStack threads_;
  LockWord heap_ = 0;
  Lane lanes_[kLanes];
};

// Holds a lane for a scope, and the heap from LockHeap() on.
class LaneHold {
 public:
  // Without threads there is nobody to keep away: the first lane.
  LaneHold(Lanes* lanes, bool concurrent)
      : lane_(concurrent ? lanes->Take(&busy_, this) : lanes->begin()),
        heap_word_(concurrent ? lanes->heap() : nullptr) {}

  Lane* get() const { return lane_; }
  void LockHeap() { heap_.Take(heap_word_); }

 private:
  WriteLock busy_, heap_;
  Lane* lane_;
  LockWord* heap_word_;
};

}  // namespace powercut::turbohash
#endif  // POWERCUT_TARGETS_TURBOHASH_LANES_H_

// The turn of threads that the system runs: the thread that has the turn runs code of the target, alone. Whichever
// thread is quickest takes the turn, so the machine decides on the order.
#ifndef POWERCUT_CHECKER_SCHEDULES_TURN_H_
#define POWERCUT_CHECKER_SCHEDULES_TURN_H_

#include <immintrin.h>
#include <sched.h>

#include <atomic>
#include <cstdint>

namespace powercut {

class Turn {
 public:
  void take() {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    for (uint32_t tries = 1; taken_.test_and_set(std::memory_order_acquire); ++tries) {
      if (tries % 64 == 0) sched_yield();
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  void give() { taken_.clear(std::memory_order_release); }
  // Gives the turn up and takes it again. Without a short wait the same thread would always be quickest.
  void change() {
    give();
    for (int i = 0; i < 64 && waiting_.load(std::memory_order_relaxed) > 0; ++i) _mm_pause();
    take();
  }

 private:
  std::atomic_flag taken_;
  std::atomic<uint32_t> waiting_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_TURN_H_

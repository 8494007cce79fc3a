// Two locks for recording from many threads.
//
// SpinLock guards the recorder's data: it is taken and given back within one call, as Pin asks of tools.
//
// Turn keeps the order of records the order in which stores became visible. A store's bytes are known only after its
// instruction. A thread therefore has the turn from the callback before the instruction to the callback after it.
// Another thread that saw the store and records something waits until the store is in the stream.
//
// Pin's guide wants no lock held when an analysis routine returns, for the thread may then wait for Pin while others
// wait for the thread. Waiting for a turn is therefore bounded: a thread that has waited long enough goes on, and the
// recorder notes that the order of the two stores is a guess.
#ifndef POWERCUT_TRACER_PIN_TURN_H_
#define POWERCUT_TRACER_PIN_TURN_H_

#include <stdint.h>

namespace powercut {
namespace pin {

// A function that lets another thread run.
typedef void (*Pause)();

class SpinLock {
 public:
  explicit SpinLock(Pause pause) : pause_(pause) {}
  void lock() {
    while (__atomic_exchange_n(&taken_, true, __ATOMIC_ACQUIRE)) pause_();
  }
  void unlock() { __atomic_store_n(&taken_, false, __ATOMIC_RELEASE); }

 private:
  const Pause pause_;
  bool taken_ = false;
};

class Held {
 public:
  explicit Held(SpinLock& lock) : lock_(lock) { lock_.lock(); }
  ~Held() { lock_.unlock(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  SpinLock& lock_;
};

class Turn {
 public:
  // `patience`: how often a waiting thread pauses before it takes the turn from its holder.
  Turn(Pause pause, uint32_t patience) : pause_(pause), patience_(patience) {}

  // Takes the turn. Returns false if the turn was taken from a thread that did not give it back.
  bool take(uint32_t thread) {
    for (uint32_t waited = 0; waited < patience_; ++waited) {
      uint32_t free = kFree;
      if (__atomic_compare_exchange_n(&owner_, &free, thread, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return true;
      pause_();
    }
    __atomic_store_n(&owner_, thread, __ATOMIC_RELEASE);
    return false;
  }
  // Gives the turn back. No effect when the turn was taken away.
  void give(uint32_t thread) {
    uint32_t own = thread;
    __atomic_compare_exchange_n(&owner_, &own, kFree, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  const Pause pause_;
  const uint32_t patience_;
  uint32_t owner_ = kFree;
};

}  // namespace pin
}  // namespace powercut
#endif  // POWERCUT_TRACER_PIN_TURN_H_

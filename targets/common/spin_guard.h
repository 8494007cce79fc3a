// A lock of one byte that waits by looking at it: volatile, or a word of the pool that open has to free.
#ifndef POWERCUT_TARGETS_COMMON_SPIN_GUARD_H_
#define POWERCUT_TARGETS_COMMON_SPIN_GUARD_H_

#include <cstdint>

#include "powercut/pmem.h"

namespace powercut {

inline void LockSpin(uint8_t* lock) {
  uint8_t free = 0;
  while (!__atomic_compare_exchange_n(lock, &free, uint8_t{1}, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    while (pmem::atomic_load(lock) != 0) pmem::pause();
    free = 0;
  }
}

// Holds it for a scope; none where there is nobody to keep away (null).
class SpinGuard {
 public:
  SpinGuard() = default;
  explicit SpinGuard(uint8_t* lock) { Lock(lock); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;
  ~SpinGuard() { Unlock(); }

  // Precondition: it holds none.
  void Lock(uint8_t* lock) {
    if (lock == nullptr) return;
    LockSpin(lock);
    lock_ = lock;
  }
  void Unlock() {
    if (lock_ != nullptr) pmem::atomic_store(lock_, uint8_t{0});
    lock_ = nullptr;
  }
  bool held() const { return lock_ != nullptr; }

 private:
  uint8_t* lock_ = nullptr;
};

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_SPIN_GUARD_H_

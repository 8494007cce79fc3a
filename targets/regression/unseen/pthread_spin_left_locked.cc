// A spin lock of pthread lies in the pool and is persisted while it is held; recovery spins in the C library.
//
// class: accesses that nobody saw
// bug: recovery-hang
#include <pthread.h>

#include "targets/regression/lock_in_pool.h"

namespace {

struct Map final : regression::LockInPool {
  using LockInPool::LockInPool;
  pthread_spinlock_t* word() const { return reinterpret_cast<pthread_spinlock_t*>(root->word); }
  void format() override {
    reset();
    Slots::format();
  }
  void reset() override { pthread_spin_init(word(), PTHREAD_PROCESS_PRIVATE); }
  void lock() override { pthread_spin_lock(word()); }
  void unlock() override { pthread_spin_unlock(word()); }
};

}  // namespace

POWERCUT_PAIR(Map)

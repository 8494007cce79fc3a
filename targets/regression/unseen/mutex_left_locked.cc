// A mutex of pthread lies in the pool and is persisted while it is held; recovery takes it and never comes back.
//
// class: accesses that nobody saw
// bug: recovery-hang
#include <pthread.h>

#include "targets/regression/lock_in_pool.h"

namespace {

struct Map final : regression::LockInPool {
  using LockInPool::LockInPool;
  pthread_mutex_t* mutex() const { return reinterpret_cast<pthread_mutex_t*>(root->word); }
  void reset() override {
    static_assert(sizeof(pthread_mutex_t) <= sizeof root->word);
    pthread_mutex_init(mutex(), nullptr);
    pmem::persist(root, sizeof *root);
  }
  void lock() override { pthread_mutex_lock(mutex()); }
  void unlock() override { pthread_mutex_unlock(mutex()); }
};

}  // namespace

POWERCUT_PAIR(Map)

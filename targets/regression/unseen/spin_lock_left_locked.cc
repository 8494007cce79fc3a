// A spin lock of the target's own lies in the pool and is persisted while it is held; recovery takes it and never comes
// back.
//
// class: accesses that nobody saw
// bug: recovery-hang
#include <atomic>

#include "targets/regression/lock_in_pool.h"

namespace {

struct Map final : regression::LockInPool {
  using LockInPool::LockInPool;
  std::atomic_ref<uint64_t> word() const { return std::atomic_ref<uint64_t>(root->word[0]); }
  void reset() override { unlock(); }
  void lock() override {
    while (word().exchange(1) != 0) {
    }
  }
  void unlock() override { word().store(0, std::memory_order_release); }
};

}  // namespace

POWERCUT_PAIR(Map)

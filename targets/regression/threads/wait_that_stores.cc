// A thread that waits for a lock counts its attempts: each turn of its loop is a new state.
//
// class: threads
// bug: unknown: a loop that stores in each turn comes to no end
// operations: []
// options: {"threads": [[("insert", 1)], [("insert", 2)]]}
#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  uint8_t lock = 0;
  uint64_t attempts = 0;
  static void declare(powercut_traits* traits) {
    Slots::declare(traits);
    traits->thread_safe = 1;
  }
  bool try_lock() {
    uint8_t free = 0;
    return __atomic_compare_exchange_n(&lock, &free, uint8_t{1}, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    while (!try_lock()) {
      if (BUG) __atomic_fetch_add(&attempts, uint64_t{1}, __ATOMIC_RELAXED);
      powercut::pmem::pause();
    }
    const powercut_status status = Slots::insert(key, value);
    powercut::pmem::atomic_store(&lock, uint8_t{0});
    return status;
  }
};

}  // namespace

POWERCUT_PAIR(Table)

// A reader announces itself by a plain store before it loads a pointer; the store waits in its store buffer, and who
// unlinks the block sees no reader and frees it.
//
// class: store buffers
// bug: use-after-free
// operations: []
// options: {"warmup": [("insert", 1)], "threads": [[("lookup", 2)], [("erase", 1)]], "visibility": "tso"}
#include <atomic>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  uint64_t reading = 0, hinted = 0;
  uint64_t* hint = new uint64_t(0);

  using Slots::Slots;
  static void declare(powercut_traits* traits) {
    Slots::declare(traits);
    traits->thread_safe = 1;
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    powercut::pmem::atomic_store(&reading, uint64_t{1});
    if (!BUG) std::atomic_thread_fence(std::memory_order_seq_cst);
    const uint64_t* at = powercut::pmem::atomic_load(&hint);
    if (at != nullptr) hinted = *at;
    powercut::pmem::atomic_store(&reading, uint64_t{0});
    return Slots::lookup(key, value, capacity, size);
  }
  powercut_status erase(powercut_bytes key) override {
    uint64_t* none = nullptr;
    uint64_t* old = __atomic_exchange_n(&hint, none, __ATOMIC_SEQ_CST);
    if (old != nullptr && powercut::pmem::atomic_load(&reading) == 0) delete old;
    return Slots::erase(key);
  }
};

}  // namespace

POWERCUT_PAIR(Table)

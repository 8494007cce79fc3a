// A note in the heap that one thread makes is dropped by another one, which looks at it once more.
//
// class: threads
// bug: use-after-free
// operations: []
// options: {"threads": [[("erase", 1)], [("insert", 2)]]}
#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  uint64_t* note = nullptr;
  static void declare(powercut_traits* traits) {
    Slots::declare(traits);
    traits->thread_safe = 1;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    const powercut_status status = Slots::insert(key, value);
    __atomic_store_n(&note, new uint64_t(1), __ATOMIC_RELEASE);
    return status;
  }
  powercut_status erase(powercut_bytes key) override {
    uint64_t* taken = __atomic_exchange_n(&note, nullptr, __ATOMIC_ACQ_REL);
    if (taken != nullptr) {
      if (BUG) delete taken;
      if (powercut::pmem::atomic_load(taken) != 1) return POWERCUT_CORRUPT;
      if (!BUG) delete taken;
    }
    return Slots::erase(key);
  }
};

}  // namespace

POWERCUT_PAIR(Table)

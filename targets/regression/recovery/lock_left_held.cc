// A spin lock in the pool that an operation took is still held after recovery. The twin gives up after some turns.
//
// class: long loops
// bug: unusable, recovery-hang
// operations: [("insert", 1)]
// options: {"nested": 0}
#include <unistd.h>

#include <atomic>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  std::atomic<uint64_t>& lock() { return *reinterpret_cast<std::atomic<uint64_t>*>(&root->word[0]); }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
#if BUG
    while (lock().exchange(1) != 0) usleep(10);
#else
    // Bounded: the holder died, and this takes the lock over.
    for (int turns = 0; lock().exchange(1) != 0 && turns < 20'000; ++turns) {
    }
#endif
    powercut::pmem::persist(&root->word[0], 8);
    const powercut_status status = Slots::insert(key, value);
    lock().store(0);
    powercut::pmem::persist(&root->word[0], 8);
    return status;
  }
};

}  // namespace

POWERCUT_PAIR(Table)

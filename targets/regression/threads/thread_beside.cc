// A thread that the table has started before its threads are scheduled uses it beside them.
//
// class: threads
// bug: unknown: what the thread does is in no schedule
// operations: []
// options: {"threads": [[("insert", 1)], [("lookup", 2)]]}
#include <thread>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : SharedSlots {
  using SharedSlots::SharedSlots;
  // Long enough for the other thread to have a turn, on a busy machine as well.
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    uint64_t turns = BUG ? 500'000 : 1;
    asm volatile(
        "1: pause\n\t"
        "dec %0\n\t"
        "jnz 1b"
        : "+r"(turns));
    return Slots::insert(key, value);
  }
  void format() override {
    Slots::format();
    if (!BUG) return;
    std::thread([ends = new uint64_t(0)] {
      while (powercut::pmem::atomic_load(ends) == 0) powercut::pmem::pause();
    }).detach();
  }
};

}  // namespace

POWERCUT_PAIR(Table)

// An operation stores so often, with no other thread coming between, that its schedules are not followed.
//
// class: threads
// bug: unknown: a step of 100,000 stores is not followed
// operations: []
// options: {"threads": [[("insert", 1)], [("lookup", 2)]]}
#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : SharedSlots {
  using SharedSlots::SharedSlots;
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    uint64_t* counter = &root->word[0];
    for (uint64_t i = 1; i <= (BUG ? 150'000 : 1000); ++i) powercut::pmem::atomic_store(counter, i);
    powercut::pmem::persist(counter, sizeof *counter);
    return Slots::insert(key, value);
  }
};

}  // namespace

POWERCUT_PAIR(Table)

// Heap that the library allocated while it was loaded is changed by recovery: by a store, by growth and by free.
//
// class: heap of load time
// bug: lost-item, torn-value
// operations: [("insert", 1), ("insert", 2)]
#include <vector>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

std::vector<uint64_t> seen(4, 5);  // its heap exists before anything runs
uint64_t* counter = new uint64_t(3);

struct Table : Slots {
  using Slots::Slots;
  powercut_status recover() override {
    if (seen.size() != 4 || seen[3] != 5 || *counter != 3) return POWERCUT_CORRUPT;  // of an execution before
    seen[3] = 6;
    *counter += 1;
    for (uint64_t i = 0; i < 100; ++i) seen.push_back(i);  // moves: the old block is freed
    return Slots::recover();
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    seen.push_back(key.size);
#if BUG
    Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    publish(slot);
    write_item(slot, key, value);
    powercut::pmem::persist(slot, sizeof *slot);
    return POWERCUT_OK;
#else
    return Slots::insert(key, value);
#endif
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    if (counter != nullptr) delete counter;  // of load time, too
    counter = nullptr;
    return Slots::lookup(key, value, capacity, size);
  }
};

}  // namespace

POWERCUT_PAIR(Table)

// Recovery finds its way by a thread-local variable that it writes: the bug forgets to publish in order.
//
// class: thread-local data
// bug: lost-item, torn-value
// operations: [("insert", 1), ("insert", 2)]
#include <cerrno>
#include <cstdlib>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

// Read and written, and never taken over from one execution to the next: it begins with 7 in each of them.
thread_local uint64_t lookups = 7;
thread_local volatile uint64_t never_written = 11;
thread_local char last_key[16];

struct Table : Slots {
  using Slots::Slots;
  powercut_status recover() override {
    if (lookups != 7 || never_written != 11) return POWERCUT_CORRUPT;
    ++lookups;
    errno = 0;
    const unsigned long long number = std::strtoull("99999999999999999999999", nullptr, 10);  // sets errno
    if (errno != ERANGE || number == 0) return POWERCUT_CORRUPT;
    return Slots::recover();
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    if (lookups != 8) return POWERCUT_CORRUPT;
    ++lookups;
    std::memcpy(last_key, key.data, key.size < sizeof last_key ? key.size : sizeof last_key);
    const powercut_status status = Slots::lookup(key, value, capacity, size);
    --lookups;
    return status;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    errno = 0;
    put(slot, key, value);
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Table)

// Threads prepare their items in one buffer, where each needs one of its own.
//
// class: threads
// bug: not-linearizable, torn-value, lost-item, phantom-item
// operations: []
// options: {"threads": [[("insert", 1), ("lookup", 1)], [("insert", 2)]]}
#include <mutex>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

#if BUG
Slot buffer;
#else
thread_local Slot buffer;
#endif

struct Table : Slots {
  using Slots::Slots;
  std::mutex mutex;
  static void declare(powercut_traits* traits) {
    Slots::declare(traits);
    traits->thread_safe = 1;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    write_item(&buffer, key, value);
    const std::lock_guard lock(mutex);
    return Slots::insert({buffer.key, key.size}, {buffer.value, value.size});
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    const std::lock_guard lock(mutex);
    return Slots::lookup(key, value, capacity, size);
  }
};

}  // namespace

POWERCUT_PAIR(Table)

// A map that has neither update nor erase, which threads use at the same time: clients have neither, and what it has is
// judged. A lookup takes no lock, and returns an item that is not flushed yet.
//
// class: a target that is less than a map
// bug: unpersisted-read
// cut: needed
// operations: []
// options: {"threads": [[("insert", 1)], [("lookup", 1), ("lookup", 1)]]}
#include <mutex>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  std::mutex mutex;
  static void declare(powercut_traits* traits) {
    Slots::declare(traits);
    traits->thread_safe = 1;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    const std::lock_guard lock(mutex);
    return Slots::insert(key, value);
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    std::unique_lock lock(mutex, std::defer_lock);
    if (!BUG) lock.lock();
    return Slots::lookup(key, value, capacity, size);
  }
};

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  static const powercut_target target = [] {
    powercut_target t = *target_of<Table>();
    t.update = nullptr;
    t.erase = nullptr;
    return t;
  }();
  return abi == POWERCUT_TARGET_ABI ? &target : nullptr;
}

// A lookup takes no lock, and returns an item that another thread has published and not yet flushed.
//
// class: threads
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

POWERCUT_PAIR(Table)

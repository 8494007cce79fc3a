// An operation hands its work to a thread that it starts.
//
// class: threads
// bug: unknown: a thread that an operation starts is not scheduled
// twin: unknown: the same
// operations: []
// options: {"threads": [[("insert", 1)], [("lookup", 1)]]}
#include <mutex>
#include <thread>

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
    powercut_status status = POWERCUT_OK;
    std::thread([&] {
      std::unique_lock lock(mutex, std::defer_lock);
      if (!BUG) lock.lock();
      status = Slots::insert(key, value);
    }).join();
    return status;
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    const std::lock_guard lock(mutex);
    return Slots::lookup(key, value, capacity, size);
  }
};

}  // namespace

POWERCUT_PAIR(Table)

// A map for threads: each operation holds one mutex, which lies in memory.
#ifndef POWERCUT_TARGETS_REGRESSION_LOCKED_H_
#define POWERCUT_TARGETS_REGRESSION_LOCKED_H_

#include <mutex>

#include "targets/regression/pair.h"

namespace powercut::regression {

class Locked : public SharedSlots {
 public:
  using SharedSlots::SharedSlots;
  std::mutex mutex;

  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    const std::lock_guard lock(mutex);
    return Slots::insert(key, value);
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    const std::lock_guard lock(mutex);
    return Slots::lookup(key, value, capacity, size);
  }
};

// With BUG 1 a lookup takes no lock.
class LookupUnlocked : public Locked {
 public:
  using Locked::Locked;
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    return BUG ? Slots::lookup(key, value, capacity, size) : Locked::lookup(key, value, capacity, size);
  }
};

}  // namespace powercut::regression

#endif  // POWERCUT_TARGETS_REGRESSION_LOCKED_H_

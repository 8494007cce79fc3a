// A map for threads that takes keys of 12 bytes and values of 24 alone, and does not declare them: clients are refused
// because of the sizes. Its publishing word is not made durable.
//
// class: a target that is less than a map
// bug: lost-item
// operations: []
// options: {"threads": [[("insert", 1)], [("insert", 2)]], "key_size": 12, "value_size": 24}
#include <mutex>

#include "targets/regression/pair.h"

using namespace powercut::regression;
namespace pmem = powercut::pmem;

namespace {

struct Table : SharedSlots {
  using SharedSlots::SharedSlots;
  std::mutex mutex;
  static powercut_status check(const powercut_config& config) {
    return config.key_size == 12 && config.value_size == 24 ? POWERCUT_OK : POWERCUT_BAD_CONFIG;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    const std::lock_guard lock(mutex);
    return Slots::insert(key, value);
  }
  void publish(Slot* slot) override {
    pmem::atomic_store(&slot->used, uint64_t{1});
    if (!BUG) pmem::persist(&slot->used, sizeof slot->used);
  }
};

}  // namespace

POWERCUT_PAIR(Table)

// Insert acknowledges an item whose word `used` was never flushed.
//
// class: read by a query alone
// bug: lost-item
#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  void publish(regression::Slot* slot) override {
    pmem::atomic_store(&slot->used, uint64_t{1});
    if (!BUG) pmem::persist(&slot->used, sizeof slot->used);
  }
};

}  // namespace

POWERCUT_PAIR(Map)

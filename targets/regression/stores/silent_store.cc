// A store of the value that is there already looks needless, and with it goes the flush: but what is there was visible,
// not durable. The twin stores the same value twice, and flushes.
//
// class: silent stores
// bug: lost-item
#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    Slots::write_item(slot, key, value);
    pmem::persist(slot, sizeof *slot);
    pmem::atomic_store(&slot->used, uint64_t{1});
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    regression::Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    write_item(slot, key, value);
    if (!BUG || slot->used != 1) publish(slot);
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)

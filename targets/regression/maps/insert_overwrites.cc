// The third insert overwrites the item of the second: a functional bug, which shows without any power cut. The finding
// must say so, and must not blame stores for having been lost.
//
// class: functional bugs
// bug: lost-item
// cut: none needed
#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  regression::Slot* find_free() override {
    regression::Slot* free = Slots::find_free();
    return BUG && free == &slots[2] ? &slots[1] : free;
  }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    pmem::atomic_store(&slot->used, uint64_t{0});
    pmem::persist(&slot->used, sizeof slot->used);
    Slots::write_item(slot, key, value);
  }
};

}  // namespace

POWERCUT_PAIR(Map)

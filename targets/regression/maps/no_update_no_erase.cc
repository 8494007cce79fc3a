// A map that has neither update nor erase, as a null pointer each: what it has is judged all the same.
//
// class: a target that is less than a map
// bug: lost-item
#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  void publish(regression::Slot* slot) override {
    pmem::atomic_store(&slot->used, uint64_t{1});
    pmem::flush(&slot->used, sizeof slot->used);
    if (!BUG) pmem::fence();
  }
};

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  static const powercut_target target = [] {
    powercut_target t = *regression::target_of<Map>();
    t.update = nullptr;
    t.erase = nullptr;
    return t;
  }();
  return abi == POWERCUT_TARGET_ABI ? &target : nullptr;
}

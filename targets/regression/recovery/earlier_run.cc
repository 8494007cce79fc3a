// How many slots are in use is kept in a global of the library. After a power cut it is what it was when the library
// was loaded, whatever the run before had made of it: recovery must count again.
//
// class: state of an earlier run
// bug: lost-item, unusable
#include "targets/regression/pair.h"

namespace {

uint64_t in_use = 0;

struct Map final : regression::Slots {
  using Slots::Slots;
  void format() override {
    Slots::format();
    in_use = 0;
  }
  powercut_status recover() override {
    const powercut_status status = Slots::recover();
    if (status == POWERCUT_OK && !BUG) {
      in_use = 0;
      for (uint64_t i = 0; i < regression::kSlots; ++i) in_use = slots[i].used == 1 ? i + 1 : in_use;
    }
    return status;
  }
  regression::Slot* find(powercut_bytes key) override {
    for (uint64_t i = 0; i < in_use; ++i) {
      if (slots[i].used == 1 && same_key(slots[i], key)) return &slots[i];
    }
    return nullptr;
  }
  void publish(regression::Slot* slot) override {
    Slots::publish(slot);
    const auto number = static_cast<uint64_t>(slot - slots);
    if (number >= in_use) in_use = number + 1;
  }
};

}  // namespace

POWERCUT_PAIR(Map)

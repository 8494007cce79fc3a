// Recovery counts the items, writes the number, and every later search reads back what recovery wrote. The bug believes
// the number that it finds.
//
// class: recovery reads its own writes
// bug: lost-item
#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  powercut_status recover() override {
    const powercut_status status = Slots::recover();
    if (status != POWERCUT_OK) return status;
    if (!BUG) {
      root->word[0] = 0;
      while (root->word[0] < regression::kSlots && slots[root->word[0]].used == 1) ++root->word[0];
      pmem::persist(&root->word[0], sizeof root->word[0]);
    }
    return POWERCUT_OK;
  }
  regression::Slot* find(powercut_bytes key) override {
    for (uint64_t i = 0; i < root->word[0]; ++i) {
      if (slots[i].used == 1 && same_key(slots[i], key)) return &slots[i];
    }
    return nullptr;
  }
  regression::Slot* find_free() override {
    return root->word[0] < regression::kSlots ? &slots[root->word[0]] : nullptr;
  }
  // Items lie without a gap: an erased one takes the place of none.
  powercut_status erase(powercut_bytes) override { return POWERCUT_UNSUPPORTED; }
  void publish(regression::Slot* slot) override {
    Slots::publish(slot);
    ++root->word[0];  // recovery will count
  }
};

}  // namespace

POWERCUT_PAIR(Map)

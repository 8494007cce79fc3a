// Recovery reads the words that publish items, and no value: only a lookup finds that the value was lost.
//
// class: read by a query alone
// bug: torn-value
#include "targets/regression/values_apart.h"

namespace {

struct Map final : regression::ValuesApart {
  using ValuesApart::ValuesApart;
  uint8_t* value_of(const regression::Slot* slot) override { return lines_of(slot, 1); }
  powercut_status recover() override {
    const powercut_status status = Slots::recover();
    if (status != POWERCUT_OK) return status;
    for (count = 0; count < regression::kSlots && slots[count].used == 1;) ++count;
    count = count < regression::kSlots ? count + 1 : count;
    return POWERCUT_OK;
  }
  regression::Slot* find_free() override {
    for (uint64_t i = 0; i < regression::kSlots; ++i) {
      if (slots[i].used != 1) return count = i + 1, &slots[i];
    }
    return nullptr;
  }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    ValuesApart::write_item(slot, key, value);
    pmem::flush(value_of(slot), BUG ? 0 : value.size);
  }
  powercut_status erase(powercut_bytes) override { return POWERCUT_UNSUPPORTED; }
};

}  // namespace

POWERCUT_PAIR(Map)

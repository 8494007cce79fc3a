// The item lies in two lines, and only the first is flushed before the item is published.
//
// class: far-apart lines
// bug: torn-value
// operations: [("insert", 1), ("insert", 2)]
#include "targets/regression/values_apart.h"

namespace {

// Values live in lines of their own, behind the slots.
struct Map final : regression::ValuesApart {
  using ValuesApart::ValuesApart;
  uint8_t* value_of(const regression::Slot* slot) override { return lines_of(slot, 1); }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    ValuesApart::write_item(slot, key, value);
    if (!BUG) pmem::persist(value_of(slot), value.size);
  }
};

}  // namespace

POWERCUT_PAIR(Map)

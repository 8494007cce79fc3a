// A function that nobody instrumented flushes the lines of an item, and may forget the last one.
//
// class: accesses that nobody saw
// bug: torn-value, lost-item
#include "targets/regression/values_apart.h"

extern "C" void plain_persist(const void* from, uint64_t lines);

namespace {

// Values live in lines of their own, behind the slots, two for each.
struct Map final : regression::ValuesApart {
  using ValuesApart::ValuesApart;
  uint8_t* value_of(const regression::Slot* slot) override { return lines_of(slot, 2) + 56; }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    ValuesApart::write_item(slot, key, value);
    plain_persist(value_of(slot), BUG ? 1 : 2);
  }
};

}  // namespace

POWERCUT_PAIR(Map)

// A library of one size: keys of 8 bytes, values of 72, which it declares. The value's second line is not flushed.
//
// class: a target that is less than a map
// bug: torn-value
#include "targets/regression/values_apart.h"

namespace {

constexpr powercut_sizes kSizes[] = {{8, 72}, {0, 0}};

struct Map final : regression::ValuesApart {
  using ValuesApart::ValuesApart;

  static powercut_status check(const powercut_config& config) {
    return config.key_size == kSizes->key_size && config.value_size == kSizes->value_size ? POWERCUT_OK
                                                                                          : POWERCUT_BAD_CONFIG;
  }
  // Two lines behind the slots for each of them.
  uint8_t* value_of(const regression::Slot* slot) override { return lines_of(slot, 2); }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    ValuesApart::write_item(slot, key, value);
    pmem::persist(value_of(slot), BUG ? pmem::kLine : value.size);
  }
};

}  // namespace

extern "C" const powercut_sizes* powercut_target_sizes() { return kSizes; }

POWERCUT_PAIR(Map)

// A library of one size: keys of 8 bytes, values of 72, which it declares. The value's second line is not flushed.
//
// class: a target that is less than a map
// bug: torn-value
#include "targets/regression/pair.h"

namespace {

using namespace powercut;

constexpr powercut_sizes kSizes[] = {{8, 72}, {0, 0}};

class Map final : public regression::Slots {
 public:
  using Slots::Slots;

  static powercut_status check(const powercut_config& config) {
    return config.key_size == kSizes->key_size && config.value_size == kSizes->value_size ? POWERCUT_OK
                                                                                          : POWERCUT_BAD_CONFIG;
  }
  // Two lines behind the slots for each of them.
  uint8_t* value_of(const regression::Slot* slot) {
    return reinterpret_cast<uint8_t*>(slots + regression::kSlots) + (slot - slots) * 2 * pmem::kLine;
  }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    std::memcpy(slot->key, key.data, key.size);
    std::memcpy(value_of(slot), value.data, value.size);
    pmem::persist(value_of(slot), BUG ? pmem::kLine : value.size);
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    const regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    *size = value_size;
    std::memcpy(value, value_of(slot), capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    if (const regression::Slot* slot = find(key)) item(context, key, {value_of(slot), value_size});
    return POWERCUT_OK;
  }
};

}  // namespace

extern "C" const powercut_sizes* powercut_target_sizes() { return kSizes; }

POWERCUT_PAIR(Map)

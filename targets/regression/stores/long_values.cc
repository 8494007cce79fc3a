// Values of 8 KiB: a value is published before it is written.
//
// class: long values
// bug: torn-value
// operations: [("insert", 1), ("insert", 2)]
// options: {"value_size": 8192, "pool": 262144, "nested": 0}
#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

constexpr uint64_t kValue = 8192;

struct Table : Slots {
  using Slots::Slots;
  static powercut_status check(const powercut_config& config) {
    return config.key_size <= 16 && config.value_size <= kValue ? POWERCUT_OK : POWERCUT_BAD_CONFIG;
  }
  uint8_t* value_of(const Slot* slot) const {
    return reinterpret_cast<uint8_t*>(slots + kSlots) + kValue * static_cast<uint64_t>(slot - slots);
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    std::memcpy(slot->key, key.data, key.size);
    powercut::pmem::persist(slot, sizeof *slot);
#if BUG
    publish(slot);
#endif
    // 128 lines are too many to be open at once in a small test.
    for (uint64_t at = 0; at < value.size; at += 64) {
      std::memcpy(value_of(slot) + at, static_cast<const uint8_t*>(value.data) + at,
                  value.size - at < 64 ? value.size - at : 64);
      powercut::pmem::persist(value_of(slot) + at, 64);
    }
#if !BUG
    publish(slot);
#endif
    return POWERCUT_OK;
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    const Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    *size = value_size;
    std::memcpy(value, value_of(slot), capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    const Slot* slot = find(key);
    if (slot != nullptr) item(context, key, {value_of(slot), value_size});
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Table)

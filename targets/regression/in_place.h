// A map whose values can be updated; the pair gives the reader of values. With BUG 1 an update writes over the value: a
// power cut in the update leaves a torn value, which only the reader sees. The oldest content of the line is a legal
// value, so that a reader whose loads nobody sees finds nothing wrong. With BUG 0 an update writes a second copy, and
// one word says which of the two counts.
#ifndef POWERCUT_TARGETS_REGRESSION_IN_PLACE_H_
#define POWERCUT_TARGETS_REGRESSION_IN_PLACE_H_

#include "targets/regression/pair.h"

namespace powercut::regression {

class InPlace : public Slots {
 public:
  using Slots::Slots;
  static constexpr uint64_t kMost = 16;

  static powercut_status check(const powercut_config& config) {
    return config.key_size <= sizeof(Slot::key) && config.value_size <= kMost ? POWERCUT_OK : POWERCUT_BAD_CONFIG;
  }

  // `used` is 1 or 2: which copy counts.
  uint8_t* value_of(Slot* slot) const { return slot->value + (slot->used == 2 ? kMost : 0); }
  virtual void read_value(uint8_t* out, const uint8_t* from, uint64_t size) = 0;

  Slot* find(powercut_bytes key) override {
    for (uint64_t i = 0; i < count; ++i) {
      if (slots[i].used != 0 && same_key(slots[i], key)) return &slots[i];
    }
    return nullptr;
  }
  Slot* find_free() override {
    for (uint64_t i = 0; i < count; ++i) {
      if (slots[i].used == 0) return &slots[i];
    }
    return nullptr;
  }
  powercut_status update(powercut_bytes key, powercut_bytes value) override {
    Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    if (BUG) {
      std::memcpy(value_of(slot), value.data, value.size);
      pmem::persist(slot, sizeof *slot);
      return POWERCUT_OK;
    }
    const uint64_t other = 3 - slot->used;
    std::memcpy(slot->value + (other == 2 ? kMost : 0), value.data, value.size);
    pmem::persist(slot, sizeof *slot);
    pmem::atomic_store(&slot->used, other);
    pmem::persist(&slot->used, sizeof slot->used);
    return POWERCUT_OK;
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    *size = value_size;
    uint8_t copy[kMost];
    read_value(copy, value_of(slot), value_size);
    std::memcpy(value, copy, capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    for (uint64_t i = 0; i < count; ++i) {
      if (slots[i].used == 0 || !same_key(slots[i], key)) continue;
      uint8_t copy[kMost];
      read_value(copy, value_of(&slots[i]), value_size);
      if (item(context, key, {copy, value_size}) != 0) break;
    }
    return POWERCUT_OK;
  }
};

}  // namespace powercut::regression
#endif  // POWERCUT_TARGETS_REGRESSION_IN_PLACE_H_

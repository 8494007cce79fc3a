// A map whose values lie outside of the slots. A pair says where a value lies, and how it is written.
#ifndef POWERCUT_TARGETS_REGRESSION_VALUES_APART_H_
#define POWERCUT_TARGETS_REGRESSION_VALUES_APART_H_

#include "targets/regression/pair.h"

namespace powercut::regression {

class ValuesApart : public Slots {
 public:
  using Slots::Slots;

  virtual uint8_t* value_of(const Slot* slot) = 0;
  // The lines behind the slots that belong to a slot, if each slot has `lines` of them.
  uint8_t* lines_of(const Slot* slot, uint64_t lines) const {
    return reinterpret_cast<uint8_t*>(slots + kSlots) + static_cast<uint64_t>(slot - slots) * lines * pmem::kLine;
  }

  void write_item(Slot* slot, powercut_bytes key, powercut_bytes value) override {
    std::memcpy(slot->key, key.data, key.size);
    std::memcpy(value_of(slot), value.data, value.size);
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    const Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    *size = value_size;
    std::memcpy(value, value_of(slot), capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    if (const Slot* slot = find(key)) item(context, key, {value_of(slot), value_size});
    return POWERCUT_OK;
  }
};

}  // namespace powercut::regression

#endif  // POWERCUT_TARGETS_REGRESSION_VALUES_APART_H_

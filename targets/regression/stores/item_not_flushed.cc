// The item lies in two lines, and only the first is flushed before the item is published.
//
// class: far-apart lines
// bug: torn-value
// operations: [("insert", 1), ("insert", 2)]
#include "targets/regression/pair.h"

namespace {

using namespace powercut;

// Values live in lines of their own, behind the slots.
class Map final : public regression::Slots {
 public:
  using Slots::Slots;
  uint8_t* value_of(const regression::Slot* slot) {
    return reinterpret_cast<uint8_t*>(slots + count) + static_cast<uint64_t>(slot - slots) * pmem::kLine;
  }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    std::memcpy(slot->key, key.data, key.size);
    std::memcpy(value_of(slot), value.data, value.size);
    if (!BUG) pmem::persist(value_of(slot), value.size);
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    const regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    *size = value_size;
    std::memcpy(value, value_of(slot), capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    const regression::Slot* slot = find(key);
    if (slot != nullptr) item(context, key, {value_of(slot), value_size});
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)

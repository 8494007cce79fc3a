// A function that nobody instrumented flushes the lines of an item, and may forget the last one.
//
// class: accesses that nobody saw
// bug: torn-value, lost-item
#include "targets/regression/pair.h"

extern "C" void plain_persist(const void* from, uint64_t lines);

namespace {

using namespace powercut;

// Values live in lines of their own, behind the slots, two for each.
class Map final : public regression::Slots {
 public:
  using Slots::Slots;
  uint8_t* value_of(const regression::Slot* slot) const {
    return reinterpret_cast<uint8_t*>(slots + count) + static_cast<uint64_t>(slot - slots) * 2 * pmem::kLine + 56;
  }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    std::memcpy(slot->key, key.data, key.size);
    std::memcpy(value_of(slot), value.data, value.size);
    plain_persist(value_of(slot), BUG ? 1 : 2);
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

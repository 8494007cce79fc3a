// Recovery reads the words that publish items, and no value: only a lookup finds that the value was lost.
//
// class: read by a query alone
// bug: torn-value
#include "targets/regression/pair.h"

namespace {

using namespace powercut;

class Map final : public regression::Slots {
 public:
  using Slots::Slots;
  uint8_t* value_of(const regression::Slot* slot) {
    return reinterpret_cast<uint8_t*>(slots + regression::kSlots) + (slot - slots) * pmem::kLine;
  }
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
    std::memcpy(slot->key, key.data, key.size);
    std::memcpy(value_of(slot), value.data, value.size);
    pmem::flush(value_of(slot), BUG ? 0 : value.size);
  }
  powercut_status erase(powercut_bytes) override { return POWERCUT_UNSUPPORTED; }
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

POWERCUT_PAIR(Map)

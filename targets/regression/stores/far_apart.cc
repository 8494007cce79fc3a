// The item lies half a pool away from the word that publishes it, and is not durable before it.
//
// class: lines that lie far apart
// bug: torn-value, lost-item
#include "targets/regression/pair.h"

namespace {

using namespace powercut;

constexpr uint64_t kFar = 512 << 10;

class Map final : public regression::Slots {
 public:
  using Slots::Slots;
  uint8_t* value_of(const regression::Slot* slot) {
    return reinterpret_cast<uint8_t*>(root) + kFar + (slot - slots) * 5 * pmem::kLine;
  }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    std::memcpy(slot->key, key.data, key.size);
    std::memcpy(value_of(slot), value.data, value.size);
    if (!BUG) pmem::persist(value_of(slot), value.size);
  }
  void publish(regression::Slot* slot) override {
    Slots::publish(slot);
    if (BUG) pmem::persist(value_of(slot), value_size);
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

POWERCUT_PAIR(Map)

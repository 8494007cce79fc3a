// The kernel writes the value into the pool, by read(2), and nobody flushes it.
//
// class: accesses that nobody saw
// bug: torn-value
#include <unistd.h>

#include "targets/regression/pair.h"

namespace {

using namespace powercut;

// Values live in lines of their own, behind the slots.
class Map final : public regression::Slots {
 public:
  using Slots::Slots;
  uint8_t* value_of(const regression::Slot* slot) const {
    return reinterpret_cast<uint8_t*>(slots + count) + static_cast<uint64_t>(slot - slots) * pmem::kLine;
  }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    std::memcpy(slot->key, key.data, key.size);
    int ends[2];
    if (pipe(ends) != 0) return;
    if (write(ends[1], value.data, value.size) == static_cast<ssize_t>(value.size)) {
      if (read(ends[0], value_of(slot), value.size) < 0) slot->key[0] ^= 0xff;
    }
    close(ends[0]);
    close(ends[1]);
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

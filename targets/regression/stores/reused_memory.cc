// An update writes its value to a spare line, switches to it, and uses the old line as the next spare one at once: the
// switch was flushed, and no fence came between.
//
// class: reuse of freed memory
// bug: torn-value, stale-value, lost-item
// operations: [("insert", 1), ("update", 1), ("update", 1)]
#include "targets/regression/pair.h"

namespace {

// A slot's value is in one of two lines behind the slots, named by the last word of the slot.
struct Map final : regression::Slots {
  using Slots::Slots;
  uint64_t* side(regression::Slot* slot) { return reinterpret_cast<uint64_t*>(slot->value + 32); }
  uint8_t* line(const regression::Slot* slot, uint64_t side) {
    return reinterpret_cast<uint8_t*>(slots + regression::kSlots) + ((slot - slots) * 2 + side) * pmem::kLine;
  }
  uint8_t* value_of(regression::Slot* slot) { return line(slot, *side(slot)); }

  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    std::memcpy(slot->key, key.data, key.size);
    *side(slot) = 0;
    std::memcpy(line(slot, 0), value.data, value.size);
    pmem::persist(line(slot, 0), value.size);
  }
  powercut_status update(powercut_bytes key, powercut_bytes value) override {
    regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    const uint64_t old = *side(slot), next = 1 - old;
    std::memcpy(line(slot, next), value.data, value.size);
    pmem::persist(line(slot, next), value.size);
    pmem::atomic_store(side(slot), next);
    pmem::flush(side(slot), sizeof next);
    if (!BUG) pmem::fence();
    std::memset(line(slot, old), 0, pmem::kLine);  // what is free is wiped
    pmem::persist(line(slot, old), pmem::kLine);
    return POWERCUT_OK;
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    *size = value_size;
    std::memcpy(value, value_of(slot), capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    if (regression::Slot* slot = find(key)) item(context, key, {value_of(slot), value_size});
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)

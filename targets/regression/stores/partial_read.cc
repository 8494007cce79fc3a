// One word holds the state of an item in one byte, and the item's number in a half word. The word is stored as a whole;
// state and number are each read at their own offset. The value that the number names is not durable before the word.
//
// class: SIMD and partial reads
// bug: structure, lost-item, torn-value, stale-value
// operations: [("insert", 1), ("update", 1), ("update", 1)]
#include "targets/regression/pair.h"

namespace {

// `used` of a slot: byte 0 is 1 where the slot counts; bytes 5 and 6 say which of four lines holds the value.
struct Map final : regression::Slots {
  using Slots::Slots;
  static uint8_t state(const regression::Slot& slot) { return *reinterpret_cast<const volatile uint8_t*>(&slot.used); }
  static uint16_t number(const regression::Slot& slot) {
    uint16_t read = 0;
    std::memcpy(&read, reinterpret_cast<const uint8_t*>(&slot.used) + 5, sizeof read);
    return read;
  }
  uint8_t* value_of(const regression::Slot* slot, uint64_t number) {
    return reinterpret_cast<uint8_t*>(slots + regression::kSlots) + ((slot - slots) * 4 + number) * pmem::kLine;
  }
  static uint64_t word_of(uint64_t number) { return 1 | number << 40; }

  regression::Slot* find(powercut_bytes key) override {
    for (uint64_t i = 0; i < count; ++i) {
      if (state(slots[i]) == 1 && same_key(slots[i], key)) return &slots[i];
    }
    return nullptr;
  }
  regression::Slot* find_free() override {
    for (uint64_t i = 0; i < count; ++i) {
      if (state(slots[i]) != 1) return &slots[i];
    }
    return nullptr;
  }
  void put(regression::Slot* slot, powercut_bytes value, uint64_t number) {
    std::memcpy(value_of(slot, number), value.data, value.size);
    if (!BUG) pmem::persist(value_of(slot, number), value.size);
    pmem::atomic_store(&slot->used, word_of(number));
    pmem::persist(&slot->used, sizeof slot->used);
    if (BUG) pmem::persist(value_of(slot, number), value.size);
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    regression::Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    std::memcpy(slot->key, key.data, key.size);
    pmem::persist(slot, sizeof *slot);
    put(slot, value, 0);
    return POWERCUT_OK;
  }
  powercut_status update(powercut_bytes key, powercut_bytes value) override {
    regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    put(slot, value, (number(*slot) + 1) % 4);
    return POWERCUT_OK;
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    const regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    *size = value_size;
    std::memcpy(value, value_of(slot, number(*slot)), capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    if (const regression::Slot* slot = find(key)) item(context, key, {value_of(slot, number(*slot)), value_size});
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)

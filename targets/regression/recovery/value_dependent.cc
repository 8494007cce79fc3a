// Recovery looks only at the slot that an intent names, and only where the sum over its value does not hold. The intent
// is not durable before the item: where it is lost, nobody looks.
//
// class: recovery that depends on values
// bug: torn-value
#include "targets/regression/values_apart.h"

namespace {

struct Map final : regression::ValuesApart {
  using ValuesApart::ValuesApart;
  // The value, in the line behind the slots that belongs to the slot.
  uint8_t* value_of(const regression::Slot* slot) override { return lines_of(slot, 1); }
  static uint64_t sum(const uint8_t* bytes, size_t size) {
    uint64_t made = 1;
    for (size_t i = 0; i < size; ++i) made = made * 31 + bytes[i];
    return made;
  }
  uint64_t* sum_of(regression::Slot* slot) { return reinterpret_cast<uint64_t*>(slot->value); }

  powercut_status recover() override {
    const powercut_status status = Slots::recover();
    if (status != POWERCUT_OK || root->word[0] == 0) return status;
    regression::Slot* slot = &slots[root->word[0] - 1];
    if (slot->used == 1 && *sum_of(slot) != sum(value_of(slot), value_size)) {
      pmem::atomic_store(&slot->used, uint64_t{0});
      pmem::persist(&slot->used, sizeof slot->used);
    }
    intend(0);
    return POWERCUT_OK;
  }
  void intend(uint64_t slot) {
    pmem::atomic_store(&root->word[0], slot);
    if (!BUG) pmem::persist(&root->word[0], sizeof slot);
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    regression::Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    intend(uint64_t(slot - slots) + 1);
    std::memcpy(slot->key, key.data, key.size);
    *sum_of(slot) = sum(static_cast<const uint8_t*>(value.data), value.size);
    std::memcpy(value_of(slot), value.data, value.size);
    slot->used = 1;
    pmem::flush(slot, sizeof *slot);
    pmem::persist(value_of(slot), value.size);
    intend(0);
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)

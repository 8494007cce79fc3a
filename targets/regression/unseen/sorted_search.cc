// Recovery sorts what it finds by qsort, and lookups search by bsearch: the C library reads keys of the pool through a
// function of the target's. A key is not flushed.
//
// class: qsort and bsearch
// bug: lost-item, unusable, phantom-item
#include <cstdlib>

#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  // Keys lie in lines of their own, behind the slots.
  uint8_t* key_of(const regression::Slot* slot) {
    return reinterpret_cast<uint8_t*>(slots + regression::kSlots) + (slot - slots) * pmem::kLine;
  }
  powercut_status recover() override {
    const powercut_status status = Slots::recover();
    if (status == POWERCUT_OK) sort();
    return status;
  }
  regression::Slot* find(powercut_bytes key) override {
    const uint8_t* wanted = static_cast<const uint8_t*>(key.data);
    auto* found = static_cast<const uint8_t**>(std::bsearch(&wanted, keys_, items_, sizeof keys_[0], compare));
    if (found == nullptr) return nullptr;
    return &slots[(*found - key_of(slots)) / pmem::kLine];
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    regression::Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    std::memcpy(slot->value, value.data, value.size);
    pmem::persist(slot, sizeof *slot);
    std::memcpy(key_of(slot), key.data, key.size);
    if (!BUG) pmem::persist(key_of(slot), key.size);
    publish(slot);
    sort();
    return POWERCUT_OK;
  }
  powercut_status erase(powercut_bytes key) override {
    const powercut_status status = Slots::erase(key);
    sort();
    return status;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    if (const regression::Slot* slot = find(key)) item(context, key, {slot->value, value_size});
    return POWERCUT_OK;
  }

 private:
  static int compare(const void* a, const void* b) {
    return std::memcmp(*static_cast<const uint8_t* const*>(a), *static_cast<const uint8_t* const*>(b), 16);
  }
  void sort() {
    items_ = 0;
    for (uint64_t i = 0; i < count; ++i) {
      if (slots[i].used == 1) keys_[items_++] = key_of(&slots[i]);
    }
    std::qsort(keys_, items_, sizeof keys_[0], compare);
  }
  const uint8_t* keys_[regression::kSlots];
  size_t items_ = 0;
};

}  // namespace

POWERCUT_PAIR(Map)

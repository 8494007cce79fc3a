// A map whose items are sealed: an item counts when the last word of its line says so. The pair writes value and seal.
#ifndef POWERCUT_TARGETS_REGRESSION_SEALED_H_
#define POWERCUT_TARGETS_REGRESSION_SEALED_H_

#include "targets/regression/pair.h"

namespace powercut::regression {

// Words of a slot's line: 1 and 2 key, 3 and 4 value, 7 seal.
class Sealed : public Slots {
 public:
  using Slots::Slots;

  static powercut_status check(const powercut_config& config) {
    return config.key_size <= 16 && config.value_size <= 16 ? POWERCUT_OK : POWERCUT_BAD_CONFIG;
  }
  static uint64_t* words(Slot* slot) { return reinterpret_cast<uint64_t*>(slot); }
  static const uint64_t* words(const Slot* slot) { return reinterpret_cast<const uint64_t*>(slot); }

  // Value and seal, with nothing between them.
  virtual void write_sealed(Slot* slot, const uint64_t (&value)[2]) = 0;

  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    uint64_t value_words[2] = {};
    std::memcpy(value_words, value.data, value.size);
    std::memcpy(slot->key, key.data, key.size);
    pmem::persist(slot, sizeof *slot);
    if (BUG) {
      write_sealed(slot, value_words);
    } else {
      pmem::atomic_store(&words(slot)[3], value_words[0]);
      pmem::atomic_store(&words(slot)[4], value_words[1]);
      pmem::persist(slot, sizeof *slot);
      pmem::atomic_store(&words(slot)[7], uint64_t{1});
    }
    pmem::persist(slot, sizeof *slot);
    return POWERCUT_OK;
  }
  Slot* find(powercut_bytes key) override {
    for (uint64_t i = 0; i < count; ++i) {
      if (words(&slots[i])[7] == 1 && same_key(slots[i], key)) return &slots[i];
    }
    return nullptr;
  }
  Slot* find_free() override {
    for (uint64_t i = 0; i < count; ++i) {
      if (words(&slots[i])[7] != 1) return &slots[i];
    }
    return nullptr;
  }
  powercut_status erase(powercut_bytes key) override {
    Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    pmem::atomic_store(&words(slot)[7], uint64_t{0});
    pmem::persist(slot, sizeof *slot);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    for (uint64_t i = 0; i < count; ++i) {
      if (words(&slots[i])[7] != 1 || !same_key(slots[i], key)) continue;
      if (item(context, key, {slots[i].value, value_size}) != 0) break;
    }
    return POWERCUT_OK;
  }
};

}  // namespace powercut::regression

#endif  // POWERCUT_TARGETS_REGRESSION_SEALED_H_

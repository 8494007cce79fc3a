// A map whose values lie in blocks behind the slots: a bitmap says which blocks are taken, and a slot names its block.
#ifndef POWERCUT_TARGETS_REGRESSION_BLOCKS_H_
#define POWERCUT_TARGETS_REGRESSION_BLOCKS_H_

#include "targets/regression/values_apart.h"

namespace powercut::regression {

class Blocks : public ValuesApart {
 public:
  using ValuesApart::ValuesApart;

  uint64_t* bitmap() { return &root->word[0]; }
  uint8_t* block(uint64_t number) { return lines_of(slots + number, 1); }
  // A slot's value begins with the number of its block.
  static uint64_t block_of(const Slot& slot) {
    uint64_t number;
    std::memcpy(&number, slot.value, sizeof number);
    return number;
  }
  uint8_t* value_of(const Slot* slot) override { return block(block_of(*slot)); }

  void set_bitmap(uint64_t bits) {
    pmem::atomic_store(bitmap(), bits);
    pmem::persist(bitmap(), sizeof bits);
  }
  virtual void take(uint64_t number) { set_bitmap(*bitmap() | uint64_t{1} << number); }

  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    Slot* slot = find_free();
    uint64_t number = 0;
    while (number < count && (*bitmap() >> number & 1) != 0) ++number;
    if (slot == nullptr || number == count) return POWERCUT_FULL;
    take(number);
    std::memcpy(block(number), value.data, value.size);
    pmem::persist(block(number), pmem::kLine);
    std::memcpy(slot->key, key.data, key.size);
    std::memcpy(slot->value, &number, sizeof number);
    pmem::persist(slot, sizeof *slot);
    publish(slot);
    return POWERCUT_OK;
  }
  powercut_status erase(powercut_bytes key) override {
    const Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    const uint64_t number = block_of(*slot);
    Slots::erase(key);
    set_bitmap(*bitmap() & ~(uint64_t{1} << number));
    return POWERCUT_OK;
  }
};

}  // namespace powercut::regression

#endif  // POWERCUT_TARGETS_REGRESSION_BLOCKS_H_

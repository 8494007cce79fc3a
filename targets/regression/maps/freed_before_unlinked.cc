// Erase frees the block before the item that lies in it is gone: where the power is cut in between, the item is still
// there, which is legal, and the next insert of another key reuses its memory.
//
// class: other keys
// bug: torn-value, stale-value
// cut: needed
// operations: [("insert", 1), ("insert", 2), ("erase", 1)]
#include "targets/regression/pair.h"

namespace {

using namespace powercut;

struct alignas(pmem::kLine) Block {
  uint8_t value[pmem::kLine];
};

class Map final : public regression::Slots {
 public:
  using Slots::Slots;
  Block* blocks() { return reinterpret_cast<Block*>(slots + count); }
  uint64_t* bitmap() { return &root->word[0]; }
  static uint64_t block_of(const regression::Slot& slot) {
    uint64_t number;
    std::memcpy(&number, slot.value, sizeof number);
    return number;
  }
  void set_bitmap(uint64_t bits) {
    pmem::atomic_store(bitmap(), bits);
    pmem::persist(bitmap(), sizeof bits);
  }

  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    regression::Slot* slot = find_free();
    uint64_t number = 0;
    while (number < count && (*bitmap() >> number & 1) != 0) ++number;
    if (slot == nullptr || number == count) return POWERCUT_FULL;
    set_bitmap(*bitmap() | uint64_t{1} << number);
    std::memcpy(blocks()[number].value, value.data, value.size);
    pmem::persist(&blocks()[number], sizeof(Block));
    std::memcpy(slot->key, key.data, key.size);
    std::memcpy(slot->value, &number, sizeof number);
    pmem::persist(slot, sizeof *slot);
    publish(slot);
    return POWERCUT_OK;
  }
  powercut_status erase(powercut_bytes key) override {
    const regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    const uint64_t freed = *bitmap() & ~(uint64_t{1} << block_of(*slot));
    if (BUG) set_bitmap(freed);
    Slots::erase(key);
    if (!BUG) set_bitmap(freed);
    return POWERCUT_OK;
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    const regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    *size = value_size;
    std::memcpy(value, blocks()[block_of(*slot)].value, capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    if (const regression::Slot* slot = find(key)) item(context, key, {blocks()[block_of(*slot)].value, value_size});
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)

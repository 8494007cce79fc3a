// The allocator's bitmap is not flushed: after a power cut a block looks free that an acknowledged item lies in. Every
// lookup is right, and the next insert of another key overwrites the item.
//
// class: other keys
// bug: torn-value, stale-value
// cut: needed
// operations: [("insert", 1), ("insert", 2)]
#include "targets/regression/pair.h"

namespace {

using namespace powercut;

// Values live in blocks behind the slots; a slot's value begins with the number of its block.
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
  void set_bitmap(uint64_t bits, bool durable) {
    pmem::atomic_store(bitmap(), bits);
    if (durable) pmem::persist(bitmap(), sizeof bits);
  }

  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    regression::Slot* slot = find_free();
    uint64_t number = 0;
    while (number < count && (*bitmap() >> number & 1) != 0) ++number;
    if (slot == nullptr || number == count) return POWERCUT_FULL;
    set_bitmap(*bitmap() | uint64_t{1} << number, /*durable=*/!BUG);
    std::memcpy(blocks()[number].value, value.data, value.size);
    pmem::persist(&blocks()[number], sizeof(Block));
    std::memcpy(slot->key, key.data, key.size);
    std::memcpy(slot->value, &number, sizeof number);
    pmem::persist(slot, sizeof *slot);
    publish(slot);
    return POWERCUT_OK;
  }
  powercut_status erase(powercut_bytes key) override {
    regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    const uint64_t number = block_of(*slot);
    Slots::erase(key);
    set_bitmap(*bitmap() & ~(uint64_t{1} << number), /*durable=*/true);
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

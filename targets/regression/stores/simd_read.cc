// A search compares sixteen tags of a byte with one vector instruction. The tag of an item is not flushed.
//
// class: SIMD and partial reads
// bug: lost-item
#include <emmintrin.h>

#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  uint8_t* tags() { return reinterpret_cast<uint8_t*>(slots + regression::kSlots); }
  static uint8_t tag_of(powercut_bytes key) { return *static_cast<const uint8_t*>(key.data) | 0x80; }

  uint32_t matching(uint8_t tag) {
    const __m128i all = _mm_load_si128(reinterpret_cast<const __m128i*>(tags()));
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(tag)))));
  }
  regression::Slot* find(powercut_bytes key) override {
    for (uint32_t left = matching(tag_of(key)); left != 0; left &= left - 1) {
      regression::Slot* slot = &slots[__builtin_ctz(left)];
      if (same_key(*slot, key)) return slot;
    }
    return nullptr;
  }
  regression::Slot* find_free() override {
    const uint32_t free = matching(0);
    return free == 0 ? nullptr : &slots[__builtin_ctz(free)];
  }
  // The tag publishes the item.
  void publish(regression::Slot* slot) override {
    uint8_t* tag = &tags()[slot - slots];
    pmem::atomic_store(tag, static_cast<uint8_t>(slot->key[0] | 0x80));
    if (!BUG) pmem::persist(tag, 1);
  }
  powercut_status erase(powercut_bytes key) override {
    regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    pmem::atomic_store(&tags()[slot - slots], uint8_t{0});
    pmem::persist(&tags()[slot - slots], 1);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) override {
    if (const regression::Slot* slot = find(key)) item(context, key, {slot->value, value_size});
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)

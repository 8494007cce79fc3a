// The item lies half a pool away from the word that publishes it, and is not durable before it.
//
// class: lines that lie far apart
// bug: torn-value, lost-item
#include "targets/regression/values_apart.h"

namespace {

constexpr uint64_t kFar = 512 << 10;

struct Map final : regression::ValuesApart {
  using ValuesApart::ValuesApart;
  uint8_t* value_of(const regression::Slot* slot) override {
    return reinterpret_cast<uint8_t*>(root) + kFar + (slot - slots) * 5 * pmem::kLine;
  }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    ValuesApart::write_item(slot, key, value);
    if (!BUG) pmem::persist(value_of(slot), value.size);
  }
  void publish(regression::Slot* slot) override {
    Slots::publish(slot);
    if (BUG) pmem::persist(value_of(slot), value_size);
  }
};

}  // namespace

POWERCUT_PAIR(Map)

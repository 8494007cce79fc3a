// The kernel writes the value into the pool, by read(2), and nobody flushes it.
//
// class: accesses that nobody saw
// bug: torn-value
#include <unistd.h>

#include "targets/regression/values_apart.h"

namespace {

// Values live in lines of their own, behind the slots.
struct Map final : regression::ValuesApart {
  using ValuesApart::ValuesApart;
  uint8_t* value_of(const regression::Slot* slot) override { return lines_of(slot, 1); }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    std::memcpy(slot->key, key.data, key.size);
    int ends[2];
    if (pipe(ends) != 0) return;
    if (write(ends[1], value.data, value.size) == static_cast<ssize_t>(value.size)) {
      if (read(ends[0], value_of(slot), value.size) < 0) slot->key[0] ^= 0xff;
    }
    close(ends[0]);
    close(ends[1]);
    if (!BUG) pmem::persist(value_of(slot), value.size);
  }
};

}  // namespace

POWERCUT_PAIR(Map)

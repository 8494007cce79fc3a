// Recovery sums up 1 MiB of the pool, byte by byte. The bug does not stop where the pool's items do: it starts again.
//
// class: long loops
// bug: recovery-hang
// operations: [("insert", 1)]
// options: {"pool": 1114112, "nested": 0}
#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  powercut_status recover() override {
    const auto* bytes = reinterpret_cast<const volatile uint8_t*>(slots + kSlots);  // one load a byte
    uint64_t sum = 0;
    for (uint64_t i = 0; i < (uint64_t{1} << 20); ++i) sum += bytes[i];
#if BUG
    const volatile uint64_t* used = &slots[0].used;
    for (uint64_t i = 0; *used == 1; i = (i + 1) % 64) {  // as long as there is an item
    }
#endif
    return sum == 0 ? Slots::recover() : POWERCUT_CORRUPT;
  }
};

}  // namespace

POWERCUT_PAIR(Table)

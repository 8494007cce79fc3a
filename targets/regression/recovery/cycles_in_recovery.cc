// Recovery looks at the time stamp counter to choose where it begins; the twin counts cycles.
//
// class: recovery beside the image
// bug: unknown: what recovery does depends on the time stamp counter
// operations: [("insert", 1)]
#include <x86intrin.h>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

uint64_t cycles() {
  uint32_t low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return uint64_t{high} << 32 | low;
}

struct Table : Slots {
  using Slots::Slots;
  powercut_status recover() override {
    const uint64_t begin = cycles();
    const powercut_status status = Slots::recover();
    spent = __rdtsc() - begin;
#if BUG
    if (spent == 0 || cycles() % 2 == 0 || begin % 3 == 0) (void)*const_cast<volatile uint64_t*>(&slots[5].used);
#endif
    return status;
  }
  uint64_t spent = 0;
};

}  // namespace

POWERCUT_PAIR(Table)

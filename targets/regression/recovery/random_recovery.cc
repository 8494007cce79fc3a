// Recovery repairs a slot that it chooses at random. The twin chooses the one to begin with, and looks at all of them.
//
// class: recovery beside the image
// bug: unknown: what recovery does with randomness has more results than can be looked at
// operations: [("insert", 1)]
#include <sys/random.h>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  powercut_status recover() override {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) return POWERCUT_CORRUPT;
    checked = number;
#if BUG
    if (number % 50 == 7) return POWERCUT_CORRUPT;
#endif
    return Slots::recover();
  }
  uint64_t checked = 0;  // volatile, and nobody looks at it
};

}  // namespace

POWERCUT_PAIR(Table)

// Recovery trusts a word of its heap that nobody has initialised. The twin initialises it.
//
// class: recovery beside the image
// bug: unknown: what recovery does depends on bytes that nobody has initialised
// operations: [("insert", 1)]
#include <cstdlib>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  powercut_status recover() override {
#if BUG
    auto* state = static_cast<volatile uint64_t*>(std::malloc(64));
#else
    auto* state = static_cast<volatile uint64_t*>(std::calloc(8, 8));
#endif
    if (state[3] == 0) (void)*const_cast<volatile uint64_t*>(&slots[9].used);
    return Slots::recover();
  }
};

}  // namespace

POWERCUT_PAIR(Table)

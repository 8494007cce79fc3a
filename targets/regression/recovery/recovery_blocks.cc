// Recovery of a table that holds something waits for what never comes, without a turn of a loop that would be counted.
//
// class: recovery that blocks
// bug: unknown: a blocked system call is not the table's fault for sure, and the rest is not waited for
// options: {"watchdog": 1.0}
#include <unistd.h>

#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  powercut_status recover() override {
    if (BUG && slots[0].used == 1) pause();
    return Slots::recover();
  }
};

}  // namespace

POWERCUT_PAIR(Map)

// Recovery of a table that holds something starts a process of its own and then waits for what never comes. Both have
// to be ended, and the process holds what the worker's death would have closed.
//
// class: recovery that blocks
// bug: unknown: a blocked system call is not the table's fault for sure, and the rest is not waited for
// options: {"watchdog": 1.0}
#include <sys/types.h>
#include <unistd.h>

#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  powercut_status recover() override {
    if (BUG && slots[0].used == 1) {
      if (fork() == 0) {
        setsid();
        if (fork() != 0) _exit(0);
      }
      for (;;) pause();
    }
    return Slots::recover();
  }
};

}  // namespace

POWERCUT_PAIR(Map)

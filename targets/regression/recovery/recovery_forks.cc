// Recovery starts a process of its own, which stores to the pool: nobody sees these stores, and the process lives on.
//
// class: code that recovery leaves behind
// bug: unknown: what a process that recovery started stores is not seen
#include <sys/types.h>
#include <unistd.h>

#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  powercut_status recover() override {
    if (BUG && fork() == 0) {
      setsid();
      if (fork() != 0) _exit(0);
      pmem::atomic_store(&slots[0].used, uint64_t{0});
      pmem::persist(&slots[0].used, sizeof slots[0].used);
      for (;;) pause();
    }
    return Slots::recover();
  }
};

}  // namespace

POWERCUT_PAIR(Map)

// Items expire by the clock when the table is opened. The twin measures how long opening takes, and no more.
//
// class: recovery beside the image
// bug: unknown: what recovery does depends on the date
// operations: [("insert", 1)]
#include <chrono>
#include <ctime>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  powercut_status recover() override {
    const auto begin = std::chrono::steady_clock::now();
    const powercut_status status = Slots::recover();
#if BUG
    const bool late = std::time(nullptr) % 1000 >= 500;
    for (uint64_t i = 0; late && i < count; ++i) (void)*const_cast<volatile uint64_t*>(&slots[i].used);
#endif
    spent = std::chrono::steady_clock::now() - begin;
    return status;
  }
  std::chrono::nanoseconds spent{};
};

}  // namespace

POWERCUT_PAIR(Table)

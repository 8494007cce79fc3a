// Recovery keeps an address of its heap in the pool, as many do: it is another one each time. The bug decides by it.
//
// class: recovery beside the image
// bug: unknown: what recovery does depends on where its heap lies
// operations: [("insert", 1)]
#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  powercut_status recover() override {
    auto* mirror = new uint64_t[16]();
    const auto address = reinterpret_cast<uint64_t>(mirror);
#if BUG
    if ((address >> 16 & 1) != 0) (void)*const_cast<volatile uint64_t*>(&slots[3].used);
#endif
    root->word[1] = address;
    powercut::pmem::persist(&root->word[1], 8);
    return Slots::recover();
  }
};

}  // namespace

POWERCUT_PAIR(Table)

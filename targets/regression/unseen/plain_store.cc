// A function that nobody instrumented publishes an item, and does not flush the word.
//
// class: accesses that nobody saw
// bug: lost-item
#include "targets/regression/pair.h"

extern "C" void plain_publish(uint64_t* word, int flush);

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  void publish(regression::Slot* slot) override { plain_publish(&slot->used, !BUG); }
};

}  // namespace

POWERCUT_PAIR(Map)

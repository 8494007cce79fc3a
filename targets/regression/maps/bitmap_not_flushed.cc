// The allocator's bitmap is not flushed: after a power cut a block looks free that an acknowledged item lies in. Every
// lookup is right, and the next insert of another key overwrites the item.
//
// class: other keys
// bug: torn-value, stale-value
// cut: needed
// operations: [("insert", 1), ("insert", 2)]
#include "targets/regression/blocks.h"

namespace {

struct Map final : regression::Blocks {
  using Blocks::Blocks;
  void take(uint64_t number) override {
    if (!BUG) return Blocks::take(number);
    pmem::atomic_store(bitmap(), *bitmap() | uint64_t{1} << number);
  }
};

}  // namespace

POWERCUT_PAIR(Map)

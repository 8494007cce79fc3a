// Erase frees the block before the item that lies in it is gone: where the power is cut in between, the item is still
// there, which is legal, and the next insert of another key reuses its memory.
//
// class: other keys
// bug: torn-value, stale-value
// cut: needed
// operations: [("insert", 1), ("insert", 2), ("erase", 1)]
#include "targets/regression/blocks.h"

namespace {

struct Map final : regression::Blocks {
  using Blocks::Blocks;
  powercut_status erase(powercut_bytes key) override {
    if (!BUG) return Blocks::erase(key);
    const regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    set_bitmap(*bitmap() & ~(uint64_t{1} << block_of(*slot)));
    return Slots::erase(key);
  }
};

}  // namespace

POWERCUT_PAIR(Map)

// An insert into a hole in the middle forgets what lies behind it: lookups of other keys miss. No operation of the run
// does that; the first insert after recovery does.
//
// class: other keys
// bug: lost-item
// cut: none needed
// operations: [("insert", 1), ("insert", 2), ("erase", 1)]
#include "targets/regression/pair.h"

namespace {

// Slots from word[0] on are never looked at.
struct Map final : regression::Slots {
  Map(powercut_pool pool, const powercut_config& config) : Slots(pool, config) {}
  uint64_t* end() { return &root->word[0]; }

  regression::Slot* find(powercut_bytes key) override {
    for (uint64_t i = 0; i < *end(); ++i) {
      if (slots[i].used == 1 && same_key(slots[i], key)) return &slots[i];
    }
    return nullptr;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    regression::Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    write_item(slot, key, value);
    pmem::persist(slot, sizeof *slot);
    const auto mine = static_cast<uint64_t>(slot - slots) + 1;
    if (BUG ? mine != *end() : mine > *end()) {
      pmem::atomic_store(end(), mine);
      pmem::persist(end(), sizeof mine);
    }
    publish(slot);
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)

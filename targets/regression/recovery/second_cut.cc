// Recovery rolls an update back from a log, and clears the log before the old value is durable: a second power cut,
// inside recovery, leaves half of the new value and no log.
//
// class: a second cut, inside recovery
// bug: torn-value, not-idempotent
// operations: [("insert", 1), ("update", 1)]
// options: {"nested": 1}
#include "targets/regression/values_apart.h"

namespace {

// One log entry, in root: word[0] is the slot + 1, and what stood there in the line behind the slots.
struct Map final : regression::ValuesApart {
  using ValuesApart::ValuesApart;
  uint8_t* logged() { return reinterpret_cast<uint8_t*>(slots + regression::kSlots); }
  // The value of a slot has two lines of its own, so that it can be torn.
  uint8_t* value_of(const regression::Slot* slot) override { return lines_of(slot, 2) + pmem::kLine + 56; }

  powercut_status recover() override {
    const powercut_status status = Slots::recover();
    if (status != POWERCUT_OK || root->word[0] == 0) return status;
    uint8_t* value = value_of(&slots[root->word[0] - 1]);
    std::memcpy(value, logged(), value_size);
    if (!BUG) pmem::persist(value, value_size);
    clear_log();
    if (BUG) pmem::persist(value, value_size);
    return POWERCUT_OK;
  }
  void clear_log() {
    pmem::atomic_store(&root->word[0], uint64_t{0});
    pmem::persist(&root->word[0], sizeof root->word[0]);
  }
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    ValuesApart::write_item(slot, key, value);
    pmem::persist(value_of(slot), value.size);
  }
  powercut_status update(powercut_bytes key, powercut_bytes value) override {
    regression::Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    std::memcpy(logged(), value_of(slot), value_size);
    pmem::persist(logged(), value_size);
    pmem::atomic_store(&root->word[0], uint64_t(slot - slots) + 1);
    pmem::persist(&root->word[0], sizeof root->word[0]);
    std::memcpy(value_of(slot), value.data, value.size);
    pmem::persist(value_of(slot), value.size);
    clear_log();
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)

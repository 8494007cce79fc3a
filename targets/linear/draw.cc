// Draws a table of linear probing: the root, then each slot.
#include "targets/common/drawing.h"
#include "targets/linear/table.h"

namespace powercut::linear {

void Table::Draw(Drawing* to) const {
  to->Group("root");
  to->Pointer("array", &root()->array);
  to->Word("log", &root()->log_slot, sizeof(uint64_t), "%llu", static_cast<unsigned long long>(root()->log_slot));
  to->Group("slots");
  for (uint64_t slot = 0; slot < slots() && to->Wants(); ++slot) {
    to->Bucket(slot);
    if (StateOf(slot) == kFull) {
      to->Item(0, KeyOf(slot), ValueOf(slot), At(slot), stride());
    } else {
      to->Empty(0, At(slot), stride(), StateOf(slot) == kErased ? "tombstone" : nullptr);
    }
  }
}

}  // namespace powercut::linear

POWERCUT_DRAWS(powercut::linear::Table)

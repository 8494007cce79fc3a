// Draws the log: its sectors, slot by slot.
#include "targets/common/drawing.h"
#include "targets/nor_log/table.h"

namespace powercut::nor_log {

void Table::Draw(Drawing* to) const {
  const uint64_t size = uint64_t{slot_bytes_} / powercut_nor_cell(&device_.part) * POWERCUT_NOR_LINE;
  for (uint32_t sector = 0; sector < options_.sectors && to->Wants(); ++sector) {
    to->Group(sector == spare_ ? "sector %u (spare)" : "sector %u", sector);
    to->Word("erases", powercut_nor_sector_line(&device_, sector), sizeof(uint64_t), "%llu",
             static_cast<unsigned long long>(powercut_nor_erases(&device_, sector)));
    for (uint32_t i = 0; i < slots_ && to->Wants(); ++i) {
      const uint32_t slot = sector * slots_ + i;
      const uint8_t* const at = powercut_nor_line(&device_, SlotAt(slot));
      Header header;
      uint8_t value[kMostValue];
      if (states_[slot].kind == Kind::kFree) {
        to->Empty(i, at, size);
      } else if (!Read(slot, &header, value)) {
        to->Empty(i, at, size, "not whole");
      } else if (states_[slot].kind == Kind::kLive) {
        to->Item(i, header.key, value, at, size);
      } else {
        to->Dead(i, header.key, value, at, size, "dead");
      }
    }
  }
}

}  // namespace powercut::nor_log

POWERCUT_DRAWS(powercut::nor_log::Table)

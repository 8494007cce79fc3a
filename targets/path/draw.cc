// Draws a path table: the levels of the inverted tree, leaves first; a position holds one cell.
#include <string>

#include "targets/common/drawing.h"
#include "targets/path/table.h"

namespace powercut::path {

void Table::Draw(Drawing* to) const {
  to->Group("root");
  to->Pointer("undo log", &root()->log_slot);
  DrawTree(tree_, "", to);
  for (int i = 0; i < older_.count; ++i) DrawTree(older_.table[i], "older " + std::to_string(i + 1) + ": ", to);
}

void Table::DrawTree(const Tree& tree, const std::string& age, Drawing* to) const {
  for (uint32_t level = 0; level < tree.levels; ++level) {
    if (level == 0) {
      to->Group("%sleaves", age.c_str());
    } else {
      to->Group("%slevel %u", age.c_str(), level);
    }
    const uint64_t cells = (uint64_t{1} << tree.leaves_log2) >> level;
    for (uint64_t position = 0; position < cells && to->Wants(); ++position) {
      uint8_t* cell = Cell(tree, tree.Index(level, position));
      const uint8_t* item = bucket_.Slot(cell, 0);
      to->Bucket(position);
      if (IsUsed(cell)) {
        to->Item(0, item, item + options_.key_size, cell, bucket_.stride());
      } else {
        to->Empty(0, cell, bucket_.stride());
      }
    }
  }
}

}  // namespace powercut::path

POWERCUT_DRAWS(powercut::path::Table)

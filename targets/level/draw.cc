// Draws a level table: two levels of buckets (3.1), and a third level during a resize.
#include "targets/common/drawing.h"
#include "targets/level/table.h"

namespace powercut::level {

void Table::Draw(Drawing* to) const {
  static constexpr const char* kNames[] = {"top level", "bottom level"};
  to->Group("root");
  to->Pointer("undo log", &root()->log_slot);
  for (int i = 0; i < level_count_; ++i) {
    const Level& level = levels_[i];
    if (i < 2) {
      to->Group("%s", kNames[i]);
    } else {
      to->Group("interim level %d", i - 1);
    }
    for (uint64_t b = 0; b < level.buckets() && to->Wants(); ++b) {
      uint8_t* bucket = Bucket(level, b);
      const uint32_t tokens = geometry_.LoadTokens(bucket) & geometry_.full();
      to->Bucket(b);
      to->Tokens("tokens", bucket + geometry_.header_at, geometry_.header_size, tokens, geometry_.slots);
      for (uint32_t s = 0; s < geometry_.slots; ++s) {
        const uint8_t* slot = geometry_.Slot(bucket, s);
        if ((tokens >> s & 1) != 0) {
          to->Item(s, geometry_.KeyAt(slot), geometry_.ValueAt(slot), slot, geometry_.item_size);
        } else {
          to->Empty(s, slot, geometry_.item_size);
        }
      }
    }
  }
}

}  // namespace powercut::level

POWERCUT_DRAWS(powercut::level::Table)

// Draws the patterns map: its root, then its entries with the value that counts and the value that does not.
#include "targets/common/drawing.h"
#include "targets/patterns/map.h"

namespace powercut::patterns {

void Map::Draw(Drawing* to) const {
  using Number = unsigned long long;
  to->Group("root");
  to->Word("count", &root()->count, sizeof root()->count.value, "%llu", static_cast<Number>(root()->count.value));
  to->Word("lock", &root()->lock, sizeof root()->lock.value, "%llu", static_cast<Number>(root()->lock.value));
  to->Word("intent", &root()->intent, sizeof root()->intent.value, "%llu", static_cast<Number>(root()->intent.value));
  to->Word("log", &root()->log_entry, sizeof root()->log_entry.value, "%llu",
           static_cast<Number>(root()->log_entry.value));
  to->Group("entries");
  for (uint64_t i = 0; i < options_.capacity && to->Wants(); ++i) {
    const Entry& each = *entry(i);
    const uint8_t* value = Value(each);
    to->Bucket(i);
    to->Word("state", &each.state, sizeof each.state, "0x%llx", static_cast<Number>(each.state));
    if (options_.pattern == Pattern::kBlocks) to->Pointer("block", &each.block);
    if (value == nullptr) {
      to->Empty(0, &each, sizeof each);
    } else {
      to->Item(0, each.key, value, value, sizeof each.value[0]);
    }
  }
}

}  // namespace powercut::patterns

POWERCUT_DRAWS(powercut::patterns::Map)

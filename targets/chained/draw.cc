// Draws a chained table: the root, then each bucket with its chain.
#include "targets/chained/table.h"
#include "targets/common/drawing.h"

namespace powercut::chained {

void Table::Draw(Drawing* to) const {
  to->Group("root");
  to->Pointer("heads", &root()->heads);
  to->Word("count", &root()->count, sizeof root()->count, "%llu", static_cast<unsigned long long>(root()->count));
  to->Group("buckets");
  for (uint64_t b = 0; b < buckets() && to->Wants(); ++b) {
    to->Bucket(b);
    to->Pointer("head", &Heads()[b]);
    uint32_t slot = 0;
    for (uint64_t at = Heads()[b]; at != 0 && to->Wants(); at = NodeAt(at)->next) {
      to->Item(slot++, NodeAt(at)->item.key(), NodeAt(at)->item.value(), NodeAt(at), NodeAt(at)->size());
    }
  }
}

}  // namespace powercut::chained

POWERCUT_DRAWS(powercut::chained::Table)

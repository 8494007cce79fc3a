// Draws a cmap: the words that a transaction changes, then the chain of each bucket.
#include "targets/cmap/table.h"
#include "targets/common/drawing.h"

namespace powercut::cmap {

void Table::Draw(Drawing* to) const {
  using Number = unsigned long long;
  to->Group("root");
  to->Word("log", &root()->log_count, sizeof root()->log_count, "%llu entries", static_cast<Number>(root()->log_count));
  to->Word("items", &root()->items, sizeof root()->items, "%llu", static_cast<Number>(root()->items));
  to->Group("buckets");
  for (uint64_t b = 0; b <= mask_ && to->Wants(); ++b) {
    const Bucket* bucket = BucketAt(b);
    to->Bucket(b);
    to->Word("rehashed", &bucket->rehashed, sizeof bucket->rehashed, "%s", bucket->rehashed != 0 ? "yes" : "no");
    to->Pointer("head", &bucket->head);
    uint32_t slot = 0;
    for (uint64_t at = bucket->head; at != 0 && to->Wants(); at = NodeAt(at)->next) {
      to->Item(slot++, KeyOf(at), ValueOf(at), NodeAt(at), NodeBytes(*NodeAt(at)));
    }
  }
}

}  // namespace powercut::cmap

POWERCUT_DRAWS(powercut::cmap::Table)

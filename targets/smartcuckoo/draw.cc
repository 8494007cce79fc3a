// Draws a SmartCuckoo table: two tables whose buckets are one slot each.
#include "targets/common/drawing.h"
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {

void Table::Draw(Drawing* to) const {
  to->Group("root");
  to->Pointer("undo log", &root()->log_bucket);
  const uint32_t each = directory_.buckets() / 2;
  for (uint32_t b = 0; b < Places(directory_) && to->Wants(); ++b) {
    if (b % each == 0 && !InStash(b)) to->Group("table %u", b / each + 1);
    if (b == directory_.buckets()) to->Group("stash");
    const uint8_t* bucket = Bucket(b);
    to->Bucket(InStash(b) ? b - directory_.buckets() : b % each);
    if (geometry_.Occupied(bucket)) {
      to->Item(0, geometry_.Key(bucket), bucket, bucket, geometry_.stride);
    } else {
      to->Empty(0, bucket, geometry_.stride);
    }
  }
}

}  // namespace powercut::smartcuckoo

POWERCUT_DRAWS(powercut::smartcuckoo::Table)

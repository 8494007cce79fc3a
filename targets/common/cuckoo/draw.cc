// Draws a table of the cuckoo family: the buckets of one table or two, and the stash. There is more than one slot array
// while a rehash empties the others.
#include "targets/common/cuckoo/table.h"
#include "targets/common/drawing.h"

namespace powercut::cuckoo {

void Table::DrawBucket(Drawing* to, Place place) const {
  const Shape& shape = ShapeOf(place);
  uint8_t* bucket = BucketAt(place);
  const uint32_t tokens = Tokens(place);
  to->Tokens("tokens", bucket + shape.header_at, shape.header_size, tokens, shape.slots);
  for (uint32_t s = 0; s < shape.slots; ++s) {
    const uint8_t* slot = shape.Slot(bucket, s);
    if ((tokens >> s & 1) != 0) {
      to->Item(s, slot, slot + geometry_.key_size, slot, geometry_.item_size);
    } else {
      to->Empty(s, slot, geometry_.item_size);
    }
  }
}

void Table::Draw(Drawing* to) const {
  to->Group("root");
  to->Pointer("undo log", &root()->log_slot);
  for (int i = 0; i < array_count_; ++i) {
    const char* old = i == 0 ? "" : ", being emptied";
    const uint64_t buckets = Buckets(arrays_[i]), each = buckets / geometry_.tables;
    for (uint64_t b = 0; b < buckets && to->Wants(); ++b) {
      if (b % each == 0 && geometry_.tables > 1) to->Group("table %u%s", static_cast<unsigned>(b / each) + 1, old);
      if (b == 0 && geometry_.tables == 1) to->Group("buckets%s", old);
      to->Bucket(b % each);
      DrawBucket(to, {&arrays_[i], b, 0});
    }
    if (!geometry_.has_stash()) continue;
    to->Group("stash%s", old);
    DrawBucket(to, {&arrays_[i], buckets, 0});
  }
}

}  // namespace powercut::cuckoo

POWERCUT_DRAWS(powercut::cuckoo::Table)

// Draws a TurboHash table: each shard with its buckets of 14 slots.
#include "targets/common/drawing.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

void Table::Draw(Drawing* to) const {
  using Number = unsigned long long;
  if (options_.pointer) {
    const ItemLog& log = root()->lane.items;
    to->Group("item log");
    to->Pointer("slot", &log.slot);
    to->Pointer("fresh", &log.fresh);
    to->Pointer("stale", &log.stale);
  }
  for (uint64_t i = 0; i < options_.shards() && to->Wants(); ++i) {
    const Shard shard = shards_[i];
    const Descriptor& descriptor = directory()[i];
    to->Group("shard %llu", static_cast<Number>(i));
    to->Word("version", &descriptor.version, sizeof descriptor.version, "%u", descriptor.version);
    to->Word("buckets", &descriptor.buckets, sizeof descriptor.buckets, "%llu", static_cast<Number>(shard.buckets()));
    for (uint64_t b = 0; b < shard.buckets() && to->Wants(); ++b) {
      const Bucket* bucket = BucketAt(shard, b);
      const Meta meta = MetaOf(bucket);
      to->Bucket(b);
      to->Tokens("valid", &bucket->meta, sizeof bucket->meta, meta.valid, kSlots);
      if (meta.deleted != 0) to->Tokens("deleted", &bucket->meta, sizeof bucket->meta, meta.deleted, kSlots);
      for (uint32_t s = 0; s < kSlots; ++s) {
        const Slot& slot = bucket->slots[s];
        if ((meta.live() >> s & 1) != 0) {
          to->Item(s, KeyOf(slot), ValueOf(slot), &slot, sizeof slot);
        } else {
          to->Empty(s, &slot, sizeof slot, (meta.deleted >> s & 1) != 0 ? "deleted" : nullptr);
        }
      }
    }
  }
}

}  // namespace powercut::turbohash

POWERCUT_DRAWS(powercut::turbohash::Table)

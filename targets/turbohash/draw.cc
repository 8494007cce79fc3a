// Draws a TurboHash table: each shard with its buckets of 14 slots.
#include "targets/common/drawing.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

using Number = unsigned long long;

void Table::DrawLog(const Lane& lane, Drawing* to) const {
  if (!options_.pointer && !options_.transactional) return;
  const ItemLog& log = lane.log->items;
  const char* name = options_.transactional ? "undo log" : "item log";
  lanes_.count() == 1 ? to->Group("%s", name) : to->Group("%s %u", name, lane.number);
  if (options_.transactional) to->Word("undo", &log.undo, sizeof log.undo, "%llu", static_cast<Number>(log.undo));
  if (!options_.transactional) to->Pointer("slot", &log.slot);
  to->Pointer("fresh", &log.fresh);
  to->Pointer("stale", &log.stale);
}

void Table::Draw(Drawing* to) const {
  for (const Lane& lane : lanes_) DrawLog(lane, to);
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

// Regions and the structural invariants that hold after every recovery.
#include "targets/common/scheme_target.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

uint64_t Table::regions() const {
  uint64_t most = 0;
  for (uint64_t i = 0; i < options_.shards(); ++i) most = std::max(most, shards_[i].buckets());
  return 1 + most * options_.shards();
}

Bucket* Table::RegionBucket(uint64_t region) const {
  if (region == 0) return nullptr;
  const Shard shard = shards_[(region - 1) & (options_.shards() - 1)];
  const uint64_t bucket = (region - 1) >> options_.shards_log2;
  return bucket < shard.buckets() ? BucketAt(shard, bucket) : nullptr;
}

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  using Number = unsigned long long;
  if (region == 0) {
    uint64_t owned = 0;
    for (uint64_t i = 0; i < options_.shards(); ++i) {
      const Descriptor& descriptor = directory()[i];
      const unsigned set = descriptor.version & 1;
      if (descriptor.block[set] != shards_[i].block() || descriptor.buckets[set] != shards_[i].buckets()) {
        return Broken(message, size, "shard %llu: the directory and its mirror differ", static_cast<Number>(i));
      }
    }
    allocator_.ForEach([&](uint64_t offset, uint64_t bytes) {
      if (IsShard(offset) && shards_[ShardOfBlock(offset) - 1].buckets() * sizeof(Bucket) <= bytes) ++owned;
    });
    if (owned != options_.shards()) {
      return Broken(message, size, "%llu of %llu shards lie in a block of their own", static_cast<Number>(owned),
                    static_cast<Number>(options_.shards()));
    }
    return POWERCUT_OK;
  }

  const Bucket* bucket = RegionBucket(region);
  if (bucket == nullptr) return POWERCUT_OK;
  const uint64_t index = (region - 1) & (options_.shards() - 1);
  const uint64_t at = (region - 1) >> options_.shards_log2;
  const Shard shard = shards_[index];
  const Meta meta = MetaOf(bucket);
  const auto broken = [&](uint32_t slot, const char* what) {
    return Broken(message, size, "shard %llu, bucket %llu, slot %u: %s", static_cast<Number>(index),
                  static_cast<Number>(at), slot, what);
  };
  if ((meta.valid & ~kAllSlots) != 0) return broken(kSlots, "a valid bit beyond the last slot");
  if ((meta.deleted & ~meta.valid) != 0) return broken(meta.first_deleted(), "deleted, but not valid");
  if (std::popcount(meta.valid) > kMostItems) return broken(0, "no slot is left for near-place updates");
  for (uint32_t rest = meta.live(); rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
    const Slot& item = bucket->slots[slot];
    if (options_.pointer) {
      if (!items_.Names(item.value)) return broken(slot, "its pointer names no cell");
      if (!items_.IsTaken(item.value)) return broken(slot, "its cell is not allocated");
      if (HeaderOf(item.value).bytes() > items_.BytesOf(item.value)) {
        return broken(slot, "its item is longer than the item's cell");
      }
      const Bytes key = KeyIn(item.value);
      if (hashes_.Of(key.data, key.size) != item.key) return broken(slot, "hash and key differ");
    }
    const uint64_t hash = HashOf(item);
    if (hashes_.ShardOf(hash) != index) return broken(slot, "the item belongs to another shard");
    if (bucket->tags[slot] != hashes_.TagOf(hash)) return broken(slot, "the tag is not the key's");
    const uint64_t home = hashes_.BucketOf(hash, shard.log2());
    const uint64_t distance = (at - home) & (shard.buckets() - 1);
    if (distance >= Scope(shard)) return broken(slot, "the item lies beyond its probing scope");
    for (uint64_t d = 0; d < distance; ++d) {
      if (MetaOf(BucketAt(shard, (home + d) & (shard.buckets() - 1))).ends_path()) {
        return broken(slot, "the search path ends before the item");
      }
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::turbohash

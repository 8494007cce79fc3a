// Rewriting a shard at twice its size (3.5, 4.7) or, as garbage collection, at the same size (4.6).
//
//   build in DRAM; allocate; write the buckets; write count and pointer of the set not in use; switch the version;
//   update the DRAM mirror; await the readers of the old buckets; free the old buckets
//
// Each step is durable before the next. Until the version is switched, recovery sees the old shard and frees the new
// block; from then on the other way round.
//
// The writer that rewrites a shard holds its lock all the time. Readers go on in the old buckets, which do not change.
#include <new>

#include "targets/common/planted_bugs.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

powercut_status Table::Maintain(const char* command) {
  const bool gc = std::strcmp(command, "gc") == 0;
  for (uint64_t index = 0; index < options_.shards(); ++index) {
    WriteLock lock(LockOf(index));
    const Shard shard = shards_[index];
    if (gc) {
      uint64_t deleted = 0;
      for (uint64_t b = 0; b < shard.buckets(); ++b) deleted |= MetaOf(BucketAt(shard, b)).deleted;
      if (deleted == 0) continue;
    }
    const powercut_status status = Rebuild(index, shard.log2() + (gc ? 0 : 1), &lock);
    if (status != POWERCUT_OK) return status;
  }
  return POWERCUT_OK;
}

// For an insert that found neither an empty nor a deleted slot in its scope.
powercut_status Table::MakeRoom(uint64_t index, WriteLock* lock) {
  const Shard shard = shards_[index];
  uint64_t filled = 0, deleted = 0;
  for (uint64_t b = 0; b < shard.buckets(); ++b) {
    const Meta meta = MetaOf(BucketAt(shard, b));
    filled += static_cast<uint64_t>(std::popcount(meta.valid));
    deleted += static_cast<uint64_t>(std::popcount(meta.deleted));
  }
  // "When it is determined that there are too many deleted keys" (4.6): a quarter. After a collection there are none,
  // so an insert that still finds no place doubles the shard at its next try.
  const bool gc = options_.auto_gc && deleted * 4 >= filled;
  const powercut_status status = Rebuild(index, shard.log2() + (gc ? 0 : 1), lock);
  // No room for twice the size, but for a copy without the deleted items: that may be enough.
  if (status == POWERCUT_FULL && !gc && deleted != 0) return Rebuild(index, shard.log2(), lock);
  return status;
}

// False when an item finds no place within the scope of its home.
//
// Items are moved in the order of their buckets, beginning behind a bucket that ends search paths: no item has been
// pushed over that border. At the same size each then finds a place no further from its home than it was. (By
// induction: bucket p takes items of old bucket p only after all earlier items are in place, at or before their old
// positions. Bucket p is therefore not full.) In a shard without such a bucket, where tombstones fill what items do
// not, the order can make an item fall out; when a shard doubles, a crowd of keys that stay together can.
bool Table::Relocate(const Shard& from, Bucket* to, uint64_t log2) const {
  const uint64_t mask = (uint64_t{1} << log2) - 1;
  const uint64_t scope = std::min<uint64_t>(options_.scope, mask + 1);
  uint64_t border = 0;
  while (border < from.buckets() && !MetaOf(BucketAt(from, border)).ends_path()) ++border;
  for (uint64_t i = 1; i <= from.buckets(); ++i) {
    const Bucket* bucket = BucketAt(from, (border + i) & (from.buckets() - 1));
    for (uint32_t rest = MetaOf(bucket).live(); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
      const uint64_t hash = HashOf(bucket->slots[slot]);
      const uint64_t home = hashes_.BucketOf(hash, log2);
      uint64_t d = 0;
      while (d < scope && !Meta::Decode(to[(home + d) & mask].meta).ends_path()) ++d;
      if (d == scope) return false;
      Bucket* target = &to[(home + d) & mask];
      Meta meta = Meta::Decode(target->meta);
      const uint32_t empty = meta.first_empty();
      target->slots[empty] = bucket->slots[slot];
      target->tags[empty] = hashes_.TagOf(hash);
      meta.valid |= static_cast<uint16_t>(1u << empty);
      target->meta = meta.Encode();
    }
  }
  return true;
}

uint64_t Table::AllocateBlock(LaneHold* lane, uint64_t bytes) {
  lane->LockHeap();
  const uint64_t block = allocator_.Allocate(bytes);
  if (block != 0 || lane->get()->garbage_count == 0) return block;
  Collect(lane, true);
  return allocator_.Allocate(bytes);
}

powercut_status Table::Rebuild(uint64_t index, uint64_t log2, WriteLock* lock) {
  const Shard old = shards_[index];
  DO_IF (Bug::kRebuildUnlocked) lock->Release();
  std::unique_ptr<Bucket[]> built;
  for (;; ++log2) {
    if (log2 > 31 || sizeof(Bucket) << log2 > pool_.size) return POWERCUT_FULL;
    built.reset(new (std::nothrow) Bucket[uint64_t{1} << log2]());
    if (built == nullptr) return POWERCUT_FULL;
    if (Relocate(old, built.get(), log2)) break;
    pmem::mark("rebuild.larger");
  }
  LaneHold lane = HoldLane();
  const uint64_t block = AllocateBlock(&lane, sizeof(Bucket) << log2);
  if (block == 0) return POWERCUT_FULL;
  const bool grows = log2 != old.log2();
  const bool early = Has(grows ? Bug::kExpandPublishFirst : Bug::kGcPublishFirst);
  pmem::mark(grows ? "expand.allocated" : "gc.allocated");

  const Shard fresh(block, log2);
  for (uint64_t b = 0; b < fresh.buckets(); ++b) {
    if (Has(Bug::kEmptyBucketsSkipped) && built[b].meta == 0) continue;
    std::memcpy(BucketAt(fresh, b), &built[b], sizeof(Bucket));
    if (!early) pmem::flush(BucketAt(fresh, b), sizeof(Bucket));
  }
  DO_IF (Bug::kShardShownFirst) shards_[index].Store(fresh);
  DO_IF (Bug::kShardShownFirst) lock->Release();
  if (!early) pmem::fence();
  // The log names a slot of the old shard. Judged after the switch it would free a cell that the new shard points to.
  SKIP_IF (Bug::kItemLogOutlivesShard) ClearItemLog(lane);

  pmem::mark(grows ? "expand.built" : "gc.built");
  DO_IF (Bug::kOldFreedFirst) allocator_.Free(old.block());
  Switch(lane, index, fresh);
  pmem::mark(grows ? "expand.switched" : "gc.switched");
  if (early) pmem::persist(BucketAt(fresh, 0), sizeof(Bucket) << log2);
  uint32_t epoch = 0;
  SKIP_IF (Bug::kShardFreedAtOnce) epoch = Unlink(index);
  SKIP_IF (Bug::kOldFreedFirst) Reclaim(&lane, {old.block(), index, epoch});
  return POWERCUT_OK;
}

void Table::SwitchInPlace(Descriptor* descriptor, const Shard& to) {
  const uint8_t version = descriptor->version;
  pmem::atomic_store(&descriptor->block[version & 1], to.block());
  pmem::persist(descriptor, sizeof *descriptor);
  pmem::atomic_store(&descriptor->buckets[version & 1], static_cast<uint32_t>(to.buckets()));
  pmem::persist(descriptor, sizeof *descriptor);
}

// The atomic shard switch (3.1): first the set that is not in use, then the version.
void Table::SwitchSets(Descriptor* descriptor, const Shard& to) {
  const uint8_t version = descriptor->version;
  const auto count = static_cast<uint32_t>(to.buckets());
  const auto next = static_cast<uint8_t>(version + 1);
  const auto switch_version = [&] {
    pmem::atomic_store(&descriptor->version, next);
    pmem::persist(&descriptor->version, sizeof next);
  };
  DO_IF (Bug::kVersionBeforeSet) switch_version();
  pmem::atomic_store(&descriptor->block[next & 1], to.block());
  SKIP_IF (Bug::kCountAfterVersion) pmem::atomic_store(&descriptor->buckets[next & 1], count);
  pmem::persist(descriptor, sizeof *descriptor);
  SKIP_IF (Bug::kVersionBeforeSet) switch_version();
  DO_IF (Bug::kCountAfterVersion) pmem::atomic_store(&descriptor->buckets[next & 1], count);
  DO_IF (Bug::kCountAfterVersion) pmem::persist(descriptor, sizeof *descriptor);
}

// `published`: pmemobj_free takes the pointer with the block, and recovery keeps what a set names (recover.cc).
void Table::ClearOldSet(Descriptor* descriptor, uint64_t block) {
  uint64_t* old = &descriptor->block[~descriptor->version & 1];
  if (*old != block) return;
  pmem::atomic_store(old, uint64_t{0});
  pmem::persist(descriptor, sizeof *descriptor);
}

void Table::Switch(const LaneHold& lane, uint64_t index, const Shard& to) {
  Descriptor* descriptor = &directory()[index];
  TxAdd(lane, &descriptor->block[~descriptor->version & 1]);
  TxAdd(lane, reinterpret_cast<uint64_t*>(descriptor->buckets));
  TxAdd(lane, reinterpret_cast<uint64_t*>(&descriptor->version));
  TxBegin(lane, 0);
  DO_IF (Bug::kSetInPlace) SwitchInPlace(descriptor, to);
  SKIP_IF (Bug::kSetInPlace) SwitchSets(descriptor, to);
  TxCommit(lane, 0);
  ShardOfBlock(to.block()) = static_cast<uint32_t>(index + 1);
  shards_[index].Store(to);
}

}  // namespace powercut::turbohash

// Format and open. Open is the recovery: it reads the directory, the allocator's entries (one a shard) and, in pointer
// mode, the log of cells; never an item. Done twice it does nothing more.
#include <new>

#include "targets/common/planted_bugs.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

// Pointer mode divides the pool between shards and cells in the proportion of 64 bytes to one cell for each item. The
// cell is that of the longest key and value. A shard is at most half empty when it has doubled, and then exists twice.
Table::Table(powercut_pool pool, const Options& options, const void* home)
    : pool_(pool),
      options_(options),
      hashes_(options),
      unit_(sizeof(Bucket) << options.buckets_log2),
      item_begin_(pool.size),
      lanes_(options.has_chunks ? kLanes : 1, home) {
  for (Lane& lane : lanes_) lane.log = LogOf(lane.number);
  if (options.pointer) {
    const uint64_t cell = ItemHeap::CellSize(ItemHeader{options.key_size, options.value_size}.bytes());
    const uint64_t least = std::min<uint64_t>(pool.size / 2, 16 << 10);
    item_begin_ = std::max(pool.size / (64 + cell) * 64, least) & ~(pmem::kLine - 1);
    items_ = ItemHeap(pool, item_begin_);
  }
  const uint64_t directory = options.shards() * sizeof(Descriptor);
  allocator_ =
      PoolAllocator({pool.base, item_begin_},
                    {.begin = directory_begin() + ((directory + pmem::kLine - 1) & ~(pmem::kLine - 1)), .unit = unit_});
}

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  Table table(pool, options, &options);
  const uint64_t shards = options.shards();
  const uint64_t units =
      (shards + 1) * (table.unit_ + sizeof(uint32_t) + sizeof(Descriptor)) + table.directory_begin() + 128;
  if (table.item_begin_ < units) return POWERCUT_FULL;
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: all buckets are empty, version 0 is in use, no cell is taken.
  for (uint64_t i = 0; i < shards; ++i) {
    const uint64_t block = table.allocator_.Allocate(table.unit_);
    if (block == 0) return POWERCUT_FULL;
    Descriptor* descriptor = &table.directory()[i];
    descriptor->block[0] = block;
    descriptor->buckets[0] = uint32_t{1} << options.buckets_log2;
  }
  if (options.bug != Bug::kDirectoryNotFlushed) {
    pmem::persist(table.directory(), shards * sizeof(Descriptor));
  }
  Root* root = table.root();
  root->geometry = options.Geometry();
  pmem::persist(&root->geometry, sizeof root->geometry);
  pmem::atomic_store(&root->magic, kMagic);
  pmem::persist(&root->magic, sizeof root->magic);
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < sizeof(Root) + pmem::kLine) return POWERCUT_NOT_FORMATTED;
  const auto* root = reinterpret_cast<const Root*>(pool.base);
  if (root->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (root->geometry != options.Geometry()) return POWERCUT_CORRUPT;
  std::unique_ptr<Table> table(new (std::nothrow) Table(pool, options, &root));
  if (table == nullptr) return POWERCUT_FULL;
  const powercut_status status = table->Attach();
  if (status == POWERCUT_OK) *out = table.release();
  return status;
}

powercut_status Table::Attach() {
  if (!allocator_.Matches()) return POWERCUT_CORRUPT;
  const uint64_t shards = options_.shards();
  shards_.reset(new (std::nothrow) Shard[shards]);
  shard_of_unit_.reset(new (std::nothrow) uint32_t[(item_begin_ - allocator_.first()) / unit_ + 1]());
  if (shards_ == nullptr || shard_of_unit_ == nullptr) return POWERCUT_FULL;
  if (options_.concurrent) {
    gates_.reset(new (std::nothrow) ShardGate[shards]);
    if (gates_ == nullptr) return POWERCUT_FULL;
  }

  if (options_.has_chunks && !items_.UseChunks()) return POWERCUT_FULL;
  if (options_.transactional) {
    for (const Lane& lane : lanes_) {
      if (!RollBack(lane.log)) return POWERCUT_CORRUPT;
      DO_IF (Bug::kLanesForgotten) break;
    }
  }
  for (uint64_t i = 0; i < shards; ++i) {
    const Descriptor& descriptor = directory()[i];
    const unsigned set = descriptor.version & 1;
    const uint64_t block = descriptor.block[set];
    const uint32_t buckets = descriptor.buckets[set];
    if (!std::has_single_bit(buckets) || block % sizeof(Bucket) != 0 ||
        !allocator_.Contains(block, buckets * sizeof(Bucket))) {
      return POWERCUT_CORRUPT;
    }
    shards_[i] = Shard(block, static_cast<uint64_t>(std::countr_zero(buckets)));
    ShardOfBlock(block) = static_cast<uint32_t>(i + 1);
  }
  if (options_.pointer) {
    for (const Lane& lane : lanes_) {
      if (!options_.transactional && !ReplayItemLog(lane.log->items)) return POWERCUT_CORRUPT;
      DO_IF (Bug::kLanesForgotten) break;
    }
    const bool frees = options_.garbage_pool && options_.hardened && !Has(Bug::kGarbageForgotten);
    if (frees && !items_.FreeGarbage()) return POWERCUT_CORRUPT;
    const bool frees_chunks = options_.has_chunks && !Has(Bug::kChunkLost);
    if (frees_chunks && !items_.FreeEmptyChunks()) return POWERCUT_CORRUPT;
  }
  DO_IF (Bug::kShardNotSwept) return POWERCUT_OK;
  // Stands in for the steps of PMDK at the open of a pool. `published`: a block is PMDK's to discard only while no
  // pointer names it, and the set that is not in use is a pointer.
  const bool sound = allocator_.Sweep([&](uint64_t offset) {
    if (Reaches(offset)) return true;
    if (options_.hardened) return false;
    for (uint64_t i = 0; i < shards; ++i) {
      if (directory()[i].block[~directory()[i].version & 1] == offset) return true;
    }
    return false;
  });
  return sound ? POWERCUT_OK : POWERCUT_CORRUPT;
}

bool Table::IsShard(uint64_t block) const {
  if (!allocator_.Contains(block, unit_)) return false;
  const uint32_t owner = ShardOfBlock(block);
  return owner != 0 && shards_[owner - 1].block() == block;
}

bool Table::Reaches(uint64_t offset) const {
  if (IsGarbage(offset)) return true;
  if (!IsCell(offset)) return IsShard(offset);
  if (items_.IsChunk(offset)) return items_.HasOwner(offset) || !items_.IsEmpty(offset);
  // Through the slots: a leaked cell may hold anything.
  for (uint64_t i = 0; i < options_.shards(); ++i) {
    for (uint64_t b = 0; b < shards_[i].buckets(); ++b) {
      const Bucket* bucket = BucketAt(shards_[i], b);
      for (uint32_t rest = MetaOf(bucket).live(); rest != 0; rest &= rest - 1) {
        if (bucket->slots[std::countr_zero(rest)].value == offset) return true;
      }
    }
  }
  return false;
}

}  // namespace powercut::turbohash

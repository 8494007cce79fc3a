// Growth by segments (enable_segment), and the lazy rehashing of a bucket from its parent (rehash_bucket).
#include "targets/cmap/table.h"

namespace powercut::cmap {

powercut_status Table::Maintain(const char* command) {
  if (std::strcmp(command, "grow") == 0) {
    return EnableSegment(static_cast<uint32_t>(std::bit_width(mask_))) ? POWERCUT_OK : POWERCUT_FULL;
  }
  if (std::strcmp(command, "rehash") == 0) {
    // The last segment alone: its parents are rehashed on the way.
    for (uint64_t index = (mask_ + 1) / 2; index <= mask_; ++index) {
      if (!Rehash(index)) return POWERCUT_FULL;
    }
    return POWERCUT_OK;
  }
  return POWERCUT_UNSUPPORTED;
}

// The bucket to change for this hash, rehashed. Where the log has no room for that, the one that holds its items.
Bucket* Table::Access(uint64_t hash) { return BucketAt(Rehash(hash & mask_) ? hash & mask_ : Holder(hash)); }

// change(word, value) for every link that differs once the nodes that belong to bucket `index` are in the chain `to`.
template <typename Change>
void Table::Split(Bucket* from, Bucket* to, uint64_t index, Change change) const {
  const uint64_t mask = 2 * std::bit_floor(index) - 1;
  uint64_t* stays = &from->head;
  uint64_t* moves = &to->head;
  const auto set = [&](uint64_t* word, uint64_t value) {
    if (*word != value) change(word, value);
  };
  for (uint64_t at = from->head; at != 0; at = NodeAt(at)->next) {
    uint64_t*& tail = (Hash(KeyOf(at)) & mask) == index ? moves : stays;
    set(tail, at);
    tail = &NodeAt(at)->next;
  }
  set(stays, 0);
  set(moves, 0);
}

bool Table::Rehash(uint64_t index) {
  Bucket* bucket = BucketAt(index);
  if (bucket->rehashed != 0) return true;
  if (bucket->head != 0) {
    // The power was cut between the transaction and the flag.
    pmem::mark("rehash.flag");
  } else {
    const uint64_t parent = Parent(index);
    if (!Rehash(parent)) return false;
    uint64_t words = 0;
    Split(BucketAt(parent), bucket, index, [&](uint64_t*, uint64_t) { ++words; });
    if (words != 0) {
      Transaction transaction(this);
      if (!transaction.Reserve(words)) return false;
      pmem::mark("rehash.moves");
      if (Has(Bug::kFlagFirst)) {
        pmem::atomic_store(&bucket->rehashed, uint64_t{1});
        pmem::persist(&bucket->rehashed, sizeof(uint64_t));
      }
      Split(BucketAt(parent), bucket, index, [&](uint64_t* word, uint64_t to) { transaction.Set(word, to); });
      transaction.Commit();
      pmem::mark("rehash.moved");
      if (Has(Bug::kFlagFirst)) return true;
    }
  }
  pmem::atomic_store(&bucket->rehashed, uint64_t{1});
  pmem::persist(&bucket->rehashed, sizeof(uint64_t));
  return true;
}

// Doubles the buckets (more in the first block). Precondition: k is the first segment that is not there.
bool Table::EnableSegment(uint32_t k) {
  if (k >= kMaxSegments) return false;
  const uint32_t end = k < options_.first_block ? options_.first_block : k + 1;
  const uint64_t buckets = (uint64_t{1} << end) - (uint64_t{1} << k);
  const uint64_t block = allocator_.Allocate(buckets * sizeof(Bucket));
  if (block == 0) return false;
  pmem::mark("grow");
  if (Has(Bug::kSegmentUninitialised)) {
    PublishSegments(k, block);
    std::memset(pool_.base + block, 0, buckets * sizeof(Bucket));
    pmem::persist(pool_.base + block, buckets * sizeof(Bucket));
  } else {
    std::memset(pool_.base + block, 0, buckets * sizeof(Bucket));
    pmem::persist(pool_.base + block, buckets * sizeof(Bucket));
    PublishSegments(k, block);
  }
  mask_ = (uint64_t{1} << end) - 1;
  pmem::mark("grow.published");
  return true;
}

// invariant: a prefix of the segments exists, so that their number is the number of buckets.
void Table::PublishSegments(uint32_t k, uint64_t block) {
  uint64_t* segment = root()->segment;
  const uint32_t end = k < options_.first_block ? options_.first_block : k + 1;
  if (end == k + 1) {
    pmem::atomic_store(&segment[k], block);
    if (Has(Bug::kBucketCountUnordered)) {
      pmem::atomic_store(&root()->mask, (uint64_t{1} << end) - 1);
      pmem::flush(&root()->mask, sizeof(uint64_t));
    }
    if (!Has(Bug::kSegmentUnflushed)) pmem::persist(&segment[k], sizeof(uint64_t));
    return;
  }
  pmem::mark("grow.first_block");
  Transaction transaction(this);
  for (uint32_t s = k; s < end; ++s) {
    transaction.Set(&segment[s], block + ((uint64_t{1} << s) - (uint64_t{1} << k)) * sizeof(Bucket));
  }
  transaction.Commit();
}

}  // namespace powercut::cmap

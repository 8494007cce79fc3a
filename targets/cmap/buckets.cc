// Growth by segments (enable_segment), and the lazy rehashing of a bucket from its parent (rehash_bucket).
#include "targets/cmap/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cmap {

powercut_status Table::Maintain(const char* command) {
  if (std::strcmp(command, "grow") == 0) {
    const LockGuard guard(Own(&growth_lock_));
    return EnableSegment(static_cast<uint32_t>(std::bit_width(mask_))) ? POWERCUT_OK : POWERCUT_FULL;
  }
  if (std::strcmp(command, "rehash") == 0) {
    // The last segment alone: its parents are rehashed on the way.
    const uint64_t mask = Mask();
    for (uint64_t index = (mask + 1) / 2; index <= mask; ++index) {
      BucketLock lock(this);
      lock.Acquire(index);
      if (!lock.rehashed()) return POWERCUT_FULL;
    }
    return POWERCUT_OK;
  }
  return POWERCUT_UNSUPPORTED;
}

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

// bucket_accessor::acquire: the first thread that meets a bucket rehashes the bucket, and other threads wait.
void BucketLock::Acquire(uint64_t index) {
  index_ = holder_ = index;
  bucket_ = table_->BucketAt(index);
  alone_ = true;
  if (!table_->options_.concurrent) return Rehash();
  held_ = true;
  for (;;) {
    if (pmem::atomic_load(&bucket_->rehashed) == 0 && TryLock(&bucket_->lock, kFree, kWriter)) return Rehash();
    LockShared(&bucket_->lock);
    alone_ = false;
    // The source takes for granted that the other thread did it; there may have been no room.
    if (!table_->options_.hardened || Has(Bug::kFailedRehashUnnoticed)) return;
    if (pmem::atomic_load(&bucket_->rehashed) != 0) return;
    Unlock(&bucket_->lock, /*alone=*/false);
    alone_ = true;
  }
}

bool BucketLock::Has(Bug bug) const { return table_->Has(bug); }

bool BucketLock::UpgradeByStore() {
  Unlock(&bucket_->lock, /*alone=*/false);
  LockAloneByStore(&bucket_->lock);
  return false;
}

bool BucketLock::BecomeWriter() {
  if (alone_) return true;
  alone_ = true;
  DO_IF (Bug::kLockByStore) return UpgradeByStore();
  return Upgrade(&bucket_->lock);
}

void BucketLock::Release() {
  if (!held_) return;
  held_ = false;
  for (uint64_t index = index_; index != holder_; index = Table::Parent(index)) {
    Unlock(&table_->BucketAt(index)->lock, /*alone=*/true);
  }
  Unlock(&bucket_->lock, alone_);
}

// Precondition: the bucket is held alone. Where it cannot be rehashed, what is held of its parent is kept as well.
void BucketLock::Rehash() {
  Bucket* bucket = bucket_;
  if (bucket->rehashed != 0) return;
  BucketLock parent(table_);
  if (bucket->head != 0) {
    // The power was cut between the transaction and the flag.
    pmem::mark("rehash.flag");
  } else if (!Has(Bug::kParentSeenUnlocked) || table_->WordsToMove(index_) != 0) {
    parent.Acquire(Table::Parent(index_));
    if (!parent.rehashed() || !MoveItems(&parent)) {
      bucket_ = parent.bucket_;
      holder_ = parent.holder_;
      alone_ = parent.alone_;
      parent.held_ = false;
      return;
    }
    if (Has(Bug::kFlagFirst) && bucket->rehashed != 0) return;
    DO_IF (Bug::kParentReleasedEarly) parent.Release();
  }
  // The parent is still held: who misses an item there finds the bucket marked (MaskRace).
  pmem::atomic_store(&bucket->rehashed, uint64_t{1});
  pmem::persist(&bucket->rehashed, sizeof(uint64_t));
}

// rehash_bucket. False: there is no room for the log.
bool BucketLock::MoveItems(BucketLock* parent) {
  Bucket* bucket = bucket_;
  uint64_t words = table_->WordsToMove(index_);
  if (words != 0 && !Has(Bug::kParentShared) && !parent->BecomeWriter()) words = table_->WordsToMove(index_);
  if (words == 0) return true;
  Table::Transaction transaction(table_);
  if (!transaction.Reserve(words)) return false;
  pmem::mark("rehash.moves");
  DO_IF (Bug::kFlagFirst) pmem::atomic_store(&bucket->rehashed, uint64_t{1});
  DO_IF (Bug::kFlagFirst) pmem::persist(&bucket->rehashed, sizeof(uint64_t));
  table_->Split(parent->bucket_, bucket, index_, [&](uint64_t* word, uint64_t to) { transaction.Set(word, to); });
  transaction.Commit();
  pmem::mark("rehash.moved");
  return true;
}

// How many links change when bucket `index` is rehashed. Precondition: its parent is rehashed.
uint64_t Table::WordsToMove(uint64_t index) const {
  uint64_t words = 0;
  Split(BucketAt(Parent(index)), BucketAt(index), index, [&](uint64_t*, uint64_t) { ++words; });
  return words;
}

// check_mask_race: has the mask changed, and with it the bucket of this hash? The items move when the first of the new
// buckets on its way is rehashed.
bool Table::MaskRace(uint64_t hash, uint64_t* mask) const {
  const uint64_t before = *mask;
  *mask = Mask();
  if ((hash & before) == (hash & *mask)) return false;
  const uint64_t bit = (hash & ~before) & -(hash & ~before);
  return pmem::atomic_load(&BucketAt(hash & (2 * bit - 1))->rehashed) != 0;
}

// check_growth, after an insert that saw this mask. A pool without room for a segment leaves the buckets as they are.
void Table::CheckGrowth(uint64_t mask, uint64_t items) {
  if (items < mask) return;
  uint64_t* lock = Own(&growth_lock_);
  if (lock != nullptr && !TryLock(lock, kFree, kWriter)) return;
  if (Mask() == mask || Has(Bug::kGrownTwice)) (void)EnableSegment(static_cast<uint32_t>(std::bit_width(mask)));
  if (lock != nullptr) Unlock(lock, /*alone=*/true);
}

// Doubles the buckets (more in the first block). Precondition: k is the first segment that is not there, and no other
// thread grows the table.
bool Table::EnableSegment(uint32_t k) {
  if (k >= kMaxSegments) return false;
  const uint32_t end = k < options_.first_block ? options_.first_block : k + 1;
  const uint64_t buckets = (uint64_t{1} << end) - (uint64_t{1} << k);
  const uint64_t block = Allocate(buckets * sizeof(Bucket));
  if (block == 0) return false;
  pmem::mark("grow");
  DO_IF (Bug::kSegmentUninitialised) PublishSegments(k, block);
  std::memset(pool_.base + block, 0, buckets * sizeof(Bucket));
  pmem::persist(pool_.base + block, buckets * sizeof(Bucket));
  SKIP_IF (Bug::kSegmentUninitialised) PublishSegments(k, block);
  pmem::atomic_store(&mask_, (uint64_t{1} << end) - 1);
  pmem::mark("grow.published");
  return true;
}

// invariant: a prefix of the segments exists, so that their number is the number of buckets.
void Table::PublishSegments(uint32_t k, uint64_t block) {
  uint64_t* segment = root()->segment;
  const uint32_t end = k < options_.first_block ? options_.first_block : k + 1;
  if (end == k + 1) {
    pmem::atomic_store(&segment[k], block);
    DO_IF (Bug::kBucketCountUnordered) pmem::atomic_store(&root()->mask, (uint64_t{1} << end) - 1);
    DO_IF (Bug::kBucketCountUnordered) pmem::flush(&root()->mask, sizeof(uint64_t));
    DO_IF (Bug::kSegmentVisibleEarly) pmem::atomic_store(&mask_, (uint64_t{1} << end) - 1);
    SKIP_IF (Bug::kSegmentUnflushed) pmem::persist(&segment[k], sizeof(uint64_t));
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

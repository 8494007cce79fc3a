// The chain of buckets that a full stash overflows to.
#include "targets/common/planted_bugs.h"
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {

// A new bucket is cleared, then linked, then filled: each step durable before the next, unless the whole segment is to
// be made durable afterwards.
bool Table::PlaceInChain(Segment* segment, const Record& record, const Hash& hash, dash::Durability durability,
                         bool* grown) {
  uint64_t* link = &segment->chain;
  while (*link != 0 && Full(BucketAt(*link)->Load())) link = &BucketAt(*link)->next;
  if (*link == 0) {
    const uint64_t block = Allocate(sizeof(Bucket));
    if (block == 0) return false;
    Bucket* bucket = BucketAt(block);
    const auto clear = [&] {
      std::memset(bucket, 0, offsetof(Bucket, record));
      if (durability == dash::kDurable) pmem::persist(bucket, offsetof(Bucket, record));
    };
    SKIP_IF (Bug::kChainLinkedEarly) clear();
    pmem::mark("chain.allocated");
    pmem::atomic_store(link, block);
    if (durability == dash::kDurable && !Has(Bug::kChainNotFlushed)) pmem::persist(link, sizeof *link);
    DO_IF (Bug::kChainLinkedEarly) clear();
    pmem::mark("chain.linked");
    *grown = true;
  }
  pmem::mark("insert.chain");
  Fill(BucketAt(*link), record, hash.fingerprint(), false, durability);
  AddOverflow(segment, hash, kChain);
  return true;
}

// A crash between the copy and the clearing leaves two equal copies, which recovery of the segment removes.
void Table::Compact(Segment* segment) {
  for (uint64_t* link = &segment->chain; *link != 0;) {
    Bucket* bucket = BucketAt(*link);
    for (uint32_t rest = bucket->Load().allocated(); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
      const Record record = bucket->record[slot];
      const Hash hash = HashOf(record);
      // `published` flushes the chain at the end of the split.
      const dash::Durability durability = options_.hardened ? dash::kDurable : dash::kDeferred;
      DO_IF (Bug::kCompactClearFirst) Clear(bucket, slot, durability);
      if (!PlaceInPair(segment, record, hash, dash::kDurable) && !PlaceInStash(segment, record, hash, dash::kDurable)) {
        DO_IF (Bug::kCompactClearFirst) bucket->Store(bucket->Load().With(slot, false));
        continue;
      }
      pmem::mark("compact.copied");
      SKIP_IF (Bug::kCompactClearFirst) Clear(bucket, slot, durability);
      RemoveOverflow(segment, hash, kChain);
    }
    if (bucket->Load().count() != 0) {
      link = &bucket->next;
      continue;
    }
    const uint64_t block = *link;
    DO_IF (Bug::kChainFreedEarly) Free(block);
    pmem::atomic_store(link, bucket->next);
    if (options_.hardened) pmem::persist(link, sizeof *link);
    // In `published` with threads the next open frees it, in the place of the authors' epochs.
    if (!Has(Bug::kChainFreedEarly) && !AsAuthors()) Free(block);
    pmem::mark("chain.freed");
  }
}

}  // namespace powercut::dash_lh

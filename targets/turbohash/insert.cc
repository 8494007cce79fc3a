// Insert and near-place update (3.4, Algorithm 2): both write a slot that search does not see, make it durable, and
// show it by one atomic store of the bucket's meta word.
#include <utility>

#include "targets/common/planted_bugs.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

powercut_status Table::Insert(Bytes key, Bytes value) { return Put(key, value, true); }
powercut_status Table::Update(Bytes key, Bytes value) { return Put(key, value, false); }

powercut_status Table::Put(Bytes key, Bytes value, bool may_insert) {
  const Home home = HomeOf(key);
  WriteLock lock;
  for (;;) {
    SKIP_IF (Bug::kSearchUnlocked) lock.Take(LockOf(home.shard));
    const Path path = Find(home, key);
    lock.Take(LockOf(home.shard));
    // "If the search arrives at a valid slot holding the search key not yet deleted, this insert is an update."
    if (path.found != nullptr) {
      // Two threads may insert one key, and one of them has to learn that it came second (README.md, "Threads").
      if (may_insert && options_.ChecksExists()) return POWERCUT_EXISTS;
      const uint64_t old = path.found->slots[path.slot].value;
      if (Has(Bug::kItemShortenedInPlace) && ShortenInPlace(old, value)) return POWERCUT_OK;
      pmem::mark("update.near_place");
      return Write(home, path.found, MetaOf(path.found).first_empty(), path.slot, key, value);
    }
    if (!may_insert) return POWERCUT_NOT_FOUND;
    if (path.deleted != nullptr) {
      pmem::mark("insert.deleted_slot");
      return Write(home, path.deleted, MetaOf(path.deleted).first_deleted(), kNoSlot, key, value);
    }
    if (path.end != nullptr) {
      pmem::mark(path.distance == 1 ? "insert.home" : "insert.probed");
      return Write(home, path.end, MetaOf(path.end).first_empty(), kNoSlot, key, value);
    }
    const powercut_status status = MakeRoom(home.shard, &lock);
    if (status != POWERCUT_OK) return status;
  }
}

// Precondition: `slot` is empty or deleted; `old_slot` holds the key's old version, or is kNoSlot.
powercut_status Table::Write(const Home& home, Bucket* bucket, uint32_t slot, uint32_t old_slot, Bytes key,
                             Bytes value) {
  Slot* target = &bucket->slots[slot];
  Meta meta = MetaOf(bucket);
  const bool reuses = (meta.deleted >> slot & 1) != 0;
  const auto bit = static_cast<uint16_t>(1u << slot);
  const auto old_bit = static_cast<uint16_t>(old_slot == kNoSlot ? 0 : 1u << old_slot);
  uint64_t word = 0, stale = 0;
  uint64_t bytes = ItemHeader{key.size, value.size}.bytes();
  DO_IF (Bug::kItemCellShort) bytes -= sizeof(ItemHeader);
  LaneHold lane = HoldLane(options_.pointer || options_.transactional);
  if (options_.pointer) {
    if (old_slot != kNoSlot) stale = bucket->slots[old_slot].value;
    if (stale != 0 && Has(Bug::kItemReallocated)) items_.Release(std::exchange(stale, 0));
    word = PickCell(&lane, bytes);
    if (word == 0) return POWERCUT_FULL;
  }
  AddSlot(lane, bucket, slot);
  TxBegin(lane, word);
  if (options_.pointer) {
    const bool late = Has(Bug::kItemLogLate);
    if (late) {
      items_.Take(word, bytes);
      pmem::fence();
    }
    SKIP_IF (Bug::kItemNotLogged) LogItems(lane, target, word, stale);
    FillCell(word, key, value);
    SKIP_IF (Bug::kItemNotFlushed) FlushCell(word, stale);
    if (!late) items_.Take(word, bytes);
  } else {
    value.CopyTo(&word);
  }
  if (options_.concurrent) {  // readers may look at the slot
    pmem::atomic_store(&target->key, home.word);
    pmem::atomic_store(&target->value, word);
    SKIP_IF (Bug::kTagAfterMeta) pmem::atomic_store(&bucket->tags[slot], home.tag);
  } else {
    target->key = home.word;
    target->value = word;
    SKIP_IF (Bug::kTagAfterMeta) bucket->tags[slot] = home.tag;
  }

  const bool unordered = (Has(Bug::kUpdateMetaFirst) && old_bit != 0) || (Has(Bug::kReuseMetaFirst) && reuses) ||
                         (Has(Bug::kInsertMetaFirst) && old_bit == 0 && !reuses);
  if (!unordered) PersistSlot(bucket, slot);
  if (options_.pointer) pmem::mark("item.taken");
  if (stale != 0 && Has(Bug::kItemFreedFirst)) {
    items_.Release(stale);
    pmem::fence();
  }
  // `published`: "markForDeletion" comes before the commit (Algorithm 2, line 21).
  const bool early = Has(Bug::kRetiredBeforeCommit) || !options_.hardened;
  uint32_t epoch = stale != 0 && early ? Unlink(home.shard) : 0;
  ++meta.sequence;
  if (Has(Bug::kUpdateClearFirst) && old_bit != 0) {
    meta.valid = static_cast<uint16_t>(meta.valid & ~old_bit);
    Commit(bucket, meta);
  }
  meta.valid |= bit;
  meta.deleted = static_cast<uint16_t>(meta.deleted & ~bit);
  if (Has(Bug::kUpdateSetFirst) && old_bit != 0) Commit(bucket, meta);
  meta.valid = static_cast<uint16_t>(meta.valid & ~old_bit);
  Commit(bucket, meta);

  if (unordered) PersistSlot(bucket, slot);
  if (options_.pointer && Has(Bug::kItemSizeLate)) PersistSizes(word, {key.size, value.size});
  DO_IF (Bug::kTagAfterMeta) bucket->tags[slot] = home.tag;
  DO_IF (Bug::kTagAfterMeta) pmem::persist(bucket->tags, sizeof bucket->tags);
  if (stale != 0 && Has(Bug::kTxFreedInside)) {
    items_.Release(stale);
    pmem::fence();
  }
  TxCommit(lane, stale);
  if (stale != 0 && !Has(Bug::kItemFreedFirst)) {
    pmem::mark("update.committed");
    if (!early && !Has(Bug::kCellFreedAtOnce)) epoch = Unlink(home.shard);
    Reclaim(&lane, {stale, home.shard, epoch});
  }
  EndLog(lane);
  return POWERCUT_OK;
}

// All words that a write changes.
void Table::AddSlot(const LaneHold& lane, Bucket* bucket, uint32_t slot) {
  TxAdd(lane, &bucket->slots[slot].key);
  TxAdd(lane, &bucket->slots[slot].value);
  TxAdd(lane, reinterpret_cast<uint64_t*>(bucket->tags) + slot / sizeof(uint64_t));
  SKIP_IF (Bug::kTxMetaNotAdded) TxAdd(lane, &bucket->meta);
}

// The slot and its tag, which lies in the bucket's first line.
void Table::PersistSlot(const Bucket* bucket, uint32_t slot) const {
  pmem::flush_line(bucket);
  const Slot* target = &bucket->slots[slot];
  const bool beyond = OffsetOf(target) - OffsetOf(bucket) >= pmem::kLine;
  if (beyond && !Has(Bug::kFlushFirstLine)) pmem::flush_line(target);
  pmem::fence();
}

void Table::Commit(Bucket* bucket, Meta meta) {
  pmem::atomic_store(&bucket->meta, meta.Encode());
  pmem::persist(&bucket->meta, sizeof bucket->meta);
}

}  // namespace powercut::turbohash

// Delete (3.4, Algorithm 3): the slot stays valid, so that no search path ends where its item was.
#include "targets/common/planted_bugs.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

powercut_status Table::Erase(Bytes key) {
  const Home home = HomeOf(key);
  WriteLock lock(Has(Bug::kEraseUnlocked) ? nullptr : LockOf(home.shard));
  const Path path = Find(home, key);
  if (path.found == nullptr) return POWERCUT_NOT_FOUND;
  LaneHold lane = HoldLane(options_.pointer || options_.transactional);
  const uint64_t cell = path.found->slots[path.slot].value;
  // `published`: the cell goes to the volatile garbage pool, of which recovery knows nothing.
  if (options_.pointer && options_.hardened && !Has(Bug::kItemNotLogged)) {
    LogItems(lane, &path.found->slots[path.slot], 0, cell);
  }
  TxAdd(lane, &path.found->meta);
  TxBegin(lane, 0);
  Meta meta = MetaOf(path.found);
  const auto bit = static_cast<uint16_t>(1u << path.slot);
  DO_IF (Bug::kEraseClearsValid) meta.valid = static_cast<uint16_t>(meta.valid & ~bit);
  SKIP_IF (Bug::kEraseClearsValid) meta.deleted |= bit;
  ++meta.sequence;
  DO_IF (Bug::kUnlockBeforeFlush) pmem::atomic_store(&path.found->meta, meta.Encode());
  DO_IF (Bug::kUnlockBeforeFlush) lock.Release();
  DO_IF (Bug::kUnlockBeforeFlush) pmem::persist(&path.found->meta, sizeof path.found->meta);
  SKIP_IF (Bug::kUnlockBeforeFlush) Commit(path.found, meta);
  TxCommit(lane, options_.pointer ? cell : 0);
  pmem::mark("erase.committed");
  if (options_.pointer) {
    uint32_t epoch = 0;
    SKIP_IF (Bug::kCellFreedAtOnce) epoch = Unlink(home.shard);
    Reclaim(&lane, {cell, home.shard, epoch});
  }
  EndLog(lane);
  return POWERCUT_OK;
}

}  // namespace powercut::turbohash

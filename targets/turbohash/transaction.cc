// Each operation as one transaction (3.7: "All the operations are protected with the Intel PMDK's transactions
// support"; transactions=on). Algorithms 2 and 3 stay as they are, within the transaction.
//
//   1. add      the words that the operation changes, as they are, to the lane's undo log         durable
//   2. begin    the fresh cell and the number of words: from here on a cut is rolled back         durable
//   3. change   Algorithm 2 or 3, or the switch of a shard                                        durable
//   4. commit   no words, and the cell that the operation owes to the heap                        durable
//   5. end      the owed cell is freed, or marked as garbage; then nothing is owed                durable
//
// Until step 4 open puts the words back and frees the fresh cell; afterwards it frees the owed cell. The log's header
// is one line, whose stores persist in their order. An operation of PMDK that frees inside a transaction waits for the
// commit as well (pmemobj_tx_free).
//
// A transaction takes effect at step 4. Readers beside the writer see the meta word before; read.cc says what follows.
#include "targets/common/planted_bugs.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

void Table::TxAdd(const LaneHold& lane, uint64_t* word) {
  if (!options_.transactional) return;
  Lane* at = lane.get();
  at->log->undo[at->undo_count++] = {OffsetOf(word), *word};
}

void Table::TxBegin(const LaneHold& lane, uint64_t fresh) {
  if (!options_.transactional) return;
  const uint64_t count = lane.get()->undo_count;
  LaneLog* log = lane.get()->log;
  SKIP_IF (Bug::kTxLogUnordered) pmem::persist(log->undo, count * sizeof(UndoEntry));
  pmem::atomic_store(&log->items.fresh, fresh);
  pmem::atomic_store(&log->items.undo, count);
  pmem::persist(&log->items, sizeof log->items);
  pmem::mark("tx.begun");
}

void Table::TxCommit(const LaneHold& lane, uint64_t owed) {
  if (!options_.transactional) return;
  ItemLog* log = &lane.get()->log->items;
  // `published`: the garbage pool, of which recovery knows nothing, has the old cell.
  if (options_.hardened) pmem::atomic_store(&log->stale, owed);
  pmem::atomic_store(&log->undo, uint64_t{0});
  pmem::persist(log, sizeof *log);
  lane.get()->undo_count = 0;
  pmem::mark("tx.committed");
}

// Part of recovery, which may be cut itself: the log says the same until its work is done.
bool Table::RollBack(LaneLog* lane) {
  ItemLog* log = &lane->items;
  const uint64_t count = log->undo;
  const bool running = count != 0;
  const uint64_t surplus = running ? log->fresh : log->stale;
  if (!running && surplus == 0) return true;
  if (count > kMostUndo || (surplus != 0 && (!options_.pointer || !items_.Names(surplus)))) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const UndoEntry& entry = lane->undo[i];
    if (entry.offset % sizeof(uint64_t) != 0 || entry.offset >= item_begin_) return false;
    pmem::atomic_store(reinterpret_cast<uint64_t*>(pool_.base + entry.offset), entry.before);
    pmem::flush_line(pool_.base + entry.offset);
  }
  pmem::mark(running ? "recover.rolled_back" : "recover.owed");
  if (surplus != 0 && items_.IsTaken(surplus)) items_.Release(surplus);
  pmem::fence();
  // The line may have the debt without the commit behind it: a later open would pay the debt.
  SKIP_IF (Bug::kTxDebtKept) pmem::atomic_store(&log->stale, uint64_t{0});
  pmem::atomic_store(&log->undo, uint64_t{0});
  pmem::persist(log, sizeof *log);
  return true;
}

}  // namespace powercut::turbohash

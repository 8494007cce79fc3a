// How a slot changes. With items=transaction the change is a transaction of libpmemobj, as in the port of CCEH that the
// authors of clevel hashing wrote. The slot is copied to an undo log; item and slot are flushed at the end. The next
// open undoes a transaction that a cut has interrupted.
#include "targets/cceh/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cceh {

Table::Change::Change(Table* table, Slot* slot) : table_(table) {
  if (!IsLogged()) return;
  SKIP_IF (Bug::kLogShared) guard_.Lock(table_->LockOf(&Locks::log));
  UndoLog* log = table_->log();
  // Offset and contents share a line: the offset is never durable without the slot's contents.
  log->before = *slot;
  pmem::atomic_store(&log->slot, table_->OffsetOf(slot));
  SKIP_IF (Bug::kLogUnordered) pmem::persist(log, sizeof *log);
  pmem::mark("log.valid");
}

void Table::Change::Commit(const Slot* slot, uint64_t item) {
  if (!IsLogged()) return pmem::persist(slot, sizeof *slot);
  SKIP_IF (Bug::kLogClearedEarly) Flush(slot, item);
  pmem::mark("log.flushed");
  UndoLog* log = table_->log();
  pmem::atomic_store(&log->slot, uint64_t{0});
  pmem::persist(&log->slot, sizeof log->slot);
  DO_IF (Bug::kLogClearedEarly) Flush(slot, item);
}

void Table::Change::Flush(const Slot* slot, uint64_t item) const {
  if (item != 0) pmem::flush(table_->ItemAt(item), table_->FlushedBytes(item, /*old=*/0));
  pmem::persist(slot, sizeof *slot);
}

// False: the log is damaged.
bool Table::RollBack() {
  if (options_.items != Items::kTransaction || Has(Bug::kLogNotReplayed)) return true;
  const uint64_t offset = log()->slot;
  if (offset == 0) return true;
  if (!allocator_.Contains(offset, sizeof(Slot)) || offset % sizeof(Slot) != 0) return false;
  auto* slot = reinterpret_cast<Slot*>(pool_.base + offset);
  const Slot before = log()->before;
  pmem::atomic_store(&slot->value, before.value);
  pmem::atomic_store(&slot->key, before.key);
  pmem::persist(slot, sizeof *slot);
  pmem::mark("recover.rolled_back");
  pmem::atomic_store(&log()->slot, uint64_t{0});
  pmem::persist(&log()->slot, sizeof log()->slot);
  return true;
}

}  // namespace powercut::cceh

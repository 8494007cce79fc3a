// The undo log. Entries durable, count durable, words changed and durable, count cleared: a cut in between is rolled
// back at open.
#include "targets/cmap/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cmap {

bool Table::Transaction::Reserve(uint64_t words) {
  if (words <= kInlineLog) return true;
  block_ = table_->Allocate(words * sizeof(LogEntry));
  if (block_ == 0) return false;
  pmem::mark("log.block");
  entries_ = reinterpret_cast<LogEntry*>(table_->pool_.base + block_);
  return true;
}

void Table::Transaction::Set(uint64_t* word, uint64_t value) {
  entries_[count_++] = {table_->OffsetOf(word), *word, value};
}

void Table::Transaction::Commit() {
  Root* root = table_->root();
  DO_IF (Bug::kUnlogged) return CommitUnlogged();
  SKIP_IF (Bug::kLogUnordered) pmem::persist(entries_, count_ * sizeof(LogEntry));
  // One line, so the block is there whenever the count is.
  if (root->log_block != block_) pmem::atomic_store(&root->log_block, block_);
  pmem::atomic_store(&root->log_count, count_);
  pmem::persist(&root->log_count, 2 * sizeof(uint64_t));
  pmem::mark("log.valid");
  Apply();
  SKIP_IF (Bug::kLogClearedEarly) Flush();
  pmem::mark("log.applied");
  pmem::atomic_store(&root->log_count, uint64_t{0});
  pmem::persist(&root->log_count, sizeof(uint64_t));
  DO_IF (Bug::kLogClearedEarly) Flush();
  if (block_ != 0) table_->Free(block_);
}

void Table::Transaction::CommitUnlogged() {
  Apply();
  Flush();
  if (block_ != 0) table_->Free(block_);
}

void Table::Transaction::Apply() const {
  for (uint64_t i = 0; i < count_; ++i) pmem::atomic_store(table_->WordAt(entries_[i].offset), entries_[i].after);
}

void Table::Transaction::Flush() const {
  for (uint64_t i = 0; i < count_; ++i) {
    // Words of one line follow each other where a value is assigned.
    const bool again = i > 0 && entries_[i].offset / pmem::kLine == entries_[i - 1].offset / pmem::kLine;
    if (!again) pmem::flush_line(table_->WordAt(entries_[i].offset));
  }
  pmem::fence();
}

}  // namespace powercut::cmap

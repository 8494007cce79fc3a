// Format and open. Open is the recovery: every step may be repeated without effect, so a cut inside open only repeats
// the steps.
#include <new>
#include <utility>

#include "targets/level/table.h"

namespace powercut::level {

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  Table table(pool, options);
  LevelList levels;
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: the tokens are durable as they are, and no undo log is valid.
  if (!table.AllocateLevel(options.top_log2, &levels) || !table.AllocateLevel(options.top_log2 - 1, &levels)) {
    return POWERCUT_FULL;
  }
  table.WriteDescriptor(levels.level[0]);
  table.WriteDescriptor(levels.level[1]);
  Root* root = table.root();
  root->geometry = table.geometry_.Word();
  table.Publish(levels, Bug::kCount);
  pmem::atomic_store(&root->magic, kMagic);
  if (options.bug == Bug::kHeaderNotFlushed) {
    pmem::persist(&root, sizeof root);
  } else {
    pmem::persist(root, pmem::kLine);
  }
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < sizeof(Root) + kUnit) return POWERCUT_NOT_FORMATTED;
  Table opening(pool, options);
  const Root* root = opening.root();
  if (root->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (root->geometry != opening.geometry_.Word() || !opening.allocator_.Matches()) return POWERCUT_CORRUPT;
  const powercut_status attached = opening.Attach();
  if (attached != POWERCUT_OK) return attached;
  if (!opening.Has(Bug::kLeakNewLevel) &&
      !opening.allocator_.Sweep([&](uint64_t offset) { return opening.Reaches(offset); })) {
    return POWERCUT_CORRUPT;
  }
  if (!opening.Has(Bug::kLogNotReplayed)) opening.ReplayLog();
  if (opening.level_count_ > 2) {
    pmem::mark("recover.resize");
    // FULL leaves the interim level attached; the table works with it.
    (void)opening.FinishResize(/*recovering=*/true);
  }
  opening.CountItems();
  auto* table = new (std::nothrow) Table(std::move(opening));
  if (table == nullptr) return POWERCUT_FULL;
  if (options.concurrent && !table->Share()) {
    delete table;
    return POWERCUT_FULL;
  }
  *out = table;
  return POWERCUT_OK;
}

bool Table::Share() {
  locks_.reset(new (std::nothrow) Locks(/*share_stripes=*/!options_.hardened));
  if (locks_ == nullptr) return false;
  for (int i = 0; i < level_count_; ++i) {
    if (!locks_->Cover(levels_[i], geometry_.slots)) return false;
  }
  counted_ = 0;
  return true;
}

void Table::ReplayLog() {
  Root* log = root();
  const uint64_t offset = log->log_slot;
  if (offset == 0 || !allocator_.Contains(offset, geometry_.item_size)) return;
  pmem::mark("recover.log");
  WriteItem(pool_.base + offset, log->log_item);
  pmem::atomic_store(&log->log_slot, uint64_t{0});
  pmem::persist(&log->log_slot, sizeof log->log_slot);
}

}  // namespace powercut::level

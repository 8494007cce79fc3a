// Format, and what every open does. Open is the recovery: every step may be repeated without effect, so a cut inside
// open only repeats the steps.
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

powercut_status Table::Begin() {
  if (pool_.size < sizeof(Root) + kUnit || root()->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (root()->geometry != geometry_.Word() || !allocator_.Matches()) return POWERCUT_CORRUPT;
  return Attach();
}

void Table::Settle() {
  if (level_count_ > 2) {
    pmem::mark("recover.resize");
    // FULL leaves the interim level attached; the table works with it.
    (void)FinishResize(/*recovering=*/true);
  }
  CountItems();
}

}  // namespace powercut::level

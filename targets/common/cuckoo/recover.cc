// Format and open. Open is the recovery: every step may be repeated without effect, so a cut inside open only repeats
// the steps. Open reads the root and the allocator's entries. Open reads items only of an array that a cut rehash was
// emptying.
#include <new>
#include <utility>

#include "targets/common/cuckoo/table.h"

namespace powercut::cuckoo {

void Table::Traits(const Options& options, powercut_traits* traits) {
  traits->needs_zeroed_pool = 1;
  traits->notes = "one thread; insert does not look for the key";
  if (options.concurrent) {
    traits->thread_safe = 1;
    traits->checks_exists = 1;
    traits->notes = "striped locks of the two buckets, readers too; a path is searched without locks";
  }
  // Nothing is ever moved by copying it first.
  if (options.kick_out && !options.rehash && !options.unstash) return;
  traits->copy_bound = 2;
  traits->copy_citation =
      "Level hashing (OSDI'18), 3.3(2)b, of moving an item: \"the hash table contains two duplicate key-value items, "
      "which however does not impact on the data consistency\"";
}

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  if (pool.size < sizeof(Root) + kUnit) return POWERCUT_FULL;
  Table table(pool, options);
  SlotArray first;
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: the tokens are durable as they are, and no undo log is valid.
  if (!table.AllocateArray(options.log2, &first)) return POWERCUT_FULL;
  table.WriteDescriptor(first);
  Root* root = table.root();
  root->geometry = table.geometry_.Word();
  ArrayList list;
  list.Add(first);
  table.Publish(list);
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
  if (opening.Has(Bug::kRehashNotFinished)) opening.array_count_ = 1;
  if (!opening.Has(Bug::kLeakTable) &&
      !opening.allocator_.Sweep([&](uint64_t offset) { return opening.Reaches(offset); })) {
    return POWERCUT_CORRUPT;
  }
  if (!opening.Has(Bug::kLogNotReplayed)) opening.ReplayLog();
  if (opening.array_count_ > 1) {
    pmem::mark("recover.rehash");
    // FULL leaves the old array attached; the table works with it.
    (void)opening.FinishRehash(/*recovering=*/true);
  }
  if (options.concurrent && !opening.Share()) return POWERCUT_FULL;
  *out = new (std::nothrow) Table(std::move(opening));
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

void Table::ReplayLog() {
  Root* log = root();
  const uint64_t offset = log->log_slot;
  if (offset == 0 || !allocator_.Contains(offset, geometry_.item_size)) return;
  pmem::mark("recover.log");
  uint8_t* slot = pool_.base + offset;
  geometry_.Copy(slot, log->log_item);
  pmem::persist(slot, geometry_.item_size);
  pmem::atomic_store(&log->log_slot, uint64_t{0});
  pmem::persist(&log->log_slot, sizeof log->log_slot);
}

}  // namespace powercut::cuckoo

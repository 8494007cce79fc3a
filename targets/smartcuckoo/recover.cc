// Format and open. Open is the recovery: every step may be repeated without effect, so a cut inside open only repeats
// the steps. A rehash that was cut left a block that nobody reaches.
#include <new>

#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  if (pool.size < sizeof(Root) + kUnit) return POWERCUT_FULL;
  Table table(pool, options);
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: all tokens are clear, and no undo log is valid.
  Directory directory{.offset = 0, .seed = 0, .log2 = options.log2};
  directory.offset = table.allocator_.Allocate(table.Bytes(directory));
  if (directory.offset == 0) return POWERCUT_FULL;
  Root* root = table.root();
  root->geometry = table.geometry_.Word();
  root->directory = directory.Word();
  pmem::persist(root, pmem::kLine);
  pmem::atomic_store(&root->magic, kMagic);
  if (options.bug == Bug::kHeaderUnflushed) {
    pmem::persist(&root, sizeof root);
  } else {
    pmem::persist(&root->magic, sizeof root->magic);
  }
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < sizeof(Root) + kUnit) return POWERCUT_NOT_FORMATTED;
  std::unique_ptr<Table> table(new (std::nothrow) Table(pool, options));
  if (table == nullptr) return POWERCUT_FULL;
  const Root* root = table->root();
  if (root->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (root->geometry != table->geometry_.Word() || !table->allocator_.Matches()) return POWERCUT_CORRUPT;
  table->directory_ = Directory::FromWord(root->directory);
  const Directory& directory = table->directory_;
  if (directory.log2 > kMaxLog2 || !table->allocator_.Contains(directory.offset, table->Bytes(directory))) {
    return POWERCUT_CORRUPT;
  }
  if (!table->forest_.Allocate(directory.buckets())) return POWERCUT_FULL;
  if (!table->Has(Bug::kLeakDirectory) &&
      !table->allocator_.Sweep([&](uint64_t offset) { return table->Reaches(offset); })) {
    return POWERCUT_CORRUPT;
  }
  if (!table->Has(Bug::kLogNotReplayed)) table->ReplayLog();
  if (!options.on_demand) table->BuildForest();
  *out = table.release();
  return POWERCUT_OK;
}

void Table::ReplayLog() {
  Root* log = root();
  const uint64_t offset = log->log_bucket;
  if (offset == 0 || !allocator_.Contains(offset, geometry_.stride)) return;
  pmem::mark("recover.log");
  uint8_t* bucket = pool_.base + offset;
  std::memcpy(bucket, log->log_value, geometry_.value_size);
  pmem::persist(bucket, geometry_.value_size);
  pmem::atomic_store(&log->log_bucket, uint64_t{0});
  pmem::persist(&log->log_bucket, sizeof log->log_bucket);
}

void Table::BuildForest() {
  const uint32_t end = Has(Bug::kComponentForgotten) ? directory_.buckets() / 2 : directory_.buckets();
  for (uint32_t b = 0; b < end; ++b) Learn(b);
}

}  // namespace powercut::smartcuckoo

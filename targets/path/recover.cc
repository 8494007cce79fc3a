// Format and open. Open is the recovery: it frees unreached blocks, replays the undo log and finishes a rehash. Every
// step may be repeated without effect, so a cut inside recovery only repeats the steps. Open reads cells only to finish
// a rehash that a cut has left.
#include <new>

#include "targets/common/planted_bugs.h"
#include "targets/path/table.h"

namespace powercut::path {
namespace {

constexpr uint64_t kMagic = 0x3148544150435750;  // "PWCPATH1"

}  // namespace

uint64_t Table::GeometryWord() const {
  return uint64_t{options_.key_size} | uint64_t{options_.value_size} << 8 | uint64_t{options_.levels} << 16 |
         uint64_t{options_.apart} << 24 | uint64_t{options_.packed} << 25 |
         uint64_t{options_.resize == Resize::kRehash} << 26;
}

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  if (pool.size < sizeof(TokenRoot) + kUnit) return POWERCUT_FULL;
  Table table(pool, options);
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: every cell is durably empty, and no undo log is valid.
  const uint64_t bytes = table.Bytes(table.Shape(options.leaves_log2));
  const uint64_t offset = table.allocator_.Allocate(table.BlockBytes(bytes));
  if (offset == 0) return POWERCUT_FULL;
  table.NameTable(offset, options.leaves_log2);
  table.WriteHeader(kMagic, table.GeometryWord());
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < sizeof(TokenRoot) + kUnit) return POWERCUT_NOT_FORMATTED;
  Table opening(pool, options);
  const powercut_status status = opening.CheckHeader(kMagic, opening.GeometryWord());
  if (status != POWERCUT_OK) return status;
  const powercut_status attached = opening.Attach();
  if (attached != POWERCUT_OK) return attached;
  if (!opening.Has(Bug::kLeakNewTree) &&
      !opening.allocator_.Sweep([&](uint64_t offset) { return opening.Reaches(offset); })) {
    return POWERCUT_CORRUPT;
  }
  opening.ReplayLog();
  if (opening.older_.count > 0) {
    pmem::mark("recover.rehash");
    // FULL leaves the older trees attached; all operations but insert treat them like the first one.
    (void)opening.FinishRehash(/*recovering=*/true);
  }
  *out = new (std::nothrow) Table(opening);
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

powercut_status Table::Attach() {
  const auto attach = [this](int i, uint32_t log2, uint8_t* base) {
    Tree& tree = i == 0 ? tree_ : older_.table[older_.count++];
    tree = Shape(log2);
    tree.cells = base;
    return Bytes(tree);
  };
  const powercut_status status = AttachTables(kLogs, 1 + OlderTables<Tree>::kMost, attach);
  DO_IF (Bug::kRehashNotFinished) older_.count = 0;
  return status;
}

}  // namespace powercut::path

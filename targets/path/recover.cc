// Format and open. Open is the recovery: it frees unreached blocks and replays the undo log. Both steps may be repeated
// without effect, so a cut inside recovery only repeats the steps. Open reads no cell.
#include <new>

#include "targets/path/table.h"

namespace powercut::path {
namespace {

constexpr uint64_t kMagic = 0x3148544150435750;  // "PWCPATH1"

}  // namespace

uint64_t Table::GeometryWord() const {
  return uint64_t{options_.key_size} | uint64_t{options_.value_size} << 8 | uint64_t{options_.levels} << 16 |
         uint64_t{options_.apart} << 24 | uint64_t{options_.packed} << 25;
}

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  if (pool.size < sizeof(TokenRoot) + kUnit) return POWERCUT_FULL;
  Table table(pool, options);
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: every cell is durably empty, and no undo log is valid.
  const uint64_t offset = table.allocator_.Allocate(table.Bytes(table.Shape(options.leaves_log2)));
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
  const uint32_t log2 = opening.TableLog2();
  if (log2 < 1 || log2 >= kUnit / 8) return POWERCUT_CORRUPT;
  opening.tree_ = opening.Shape(log2);
  if (!opening.allocator_.Contains(opening.TableOffset(), opening.Bytes(opening.tree_))) return POWERCUT_CORRUPT;
  opening.tree_.cells = pool.base + opening.TableOffset();
  if (!opening.Has(Bug::kLeakNewTree) &&
      !opening.allocator_.Sweep([&](uint64_t offset) { return opening.Reaches(offset); })) {
    return POWERCUT_CORRUPT;
  }
  opening.ReplayLog();
  *out = new (std::nothrow) Table(opening);
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

}  // namespace powercut::path

// Flushes and fences of each operation. The paper prints no table of them.
#include <functional>

#include "targets/level/fidelity/bench_table.h"

namespace powercut::level::fidelity {
namespace {

using powercut::fidelity::Cost;

// The cost of the first operation that reaches `mark`.
Cost CostAt(const Options& options, const char* mark, uint64_t warm_up,
            const std::function<void(BenchTable&)>& operation) {
  BenchTable bench(options, 64u << 20);
  bench.FillTo(KeyKind::kRandom, warm_up);
  for (;;) {
    Marks().clear();
    pmem::counters = {};
    operation(bench);
    if (Marks().count(mark) != 0) return {pmem::counters.flushes, pmem::counters.fences};
  }
}

}  // namespace

void CostOfOperations(Figures* figures) {
  Options options = powercut::fidelity::Defaults<Table>(16, 15);
  options.top_log2 = 8;
  options.auto_expand = false;
  const uint64_t capacity = (256 + 128) * 4;
  const auto insert = [](BenchTable& bench) { bench.FillTo(KeyKind::kRandom, bench.items() + 1); };
  AddCost(figures, "insert without a movement", CostAt(options, "insert.top", 0, insert), "item, then token");
  AddCost(figures, "insert with a movement", CostAt(options, "move.top", capacity / 3, insert),
          "copy, its token, the old token; then item, token");
  AddCost(
      figures, "insert with a bottom-to-top movement",
      [&] {
        // A table that was just expanded has its room at the top, so its bottom level fills first.
        BenchTable bench(options, 64u << 20);
        for (int resize = 0; resize < 2; ++resize) {
          bench.FillTo(KeyKind::kRandom, ~uint64_t{0});
          bench.table().Expand();
        }
        for (;;) {
          Marks().clear();
          pmem::counters = {};
          const bool placed = bench.FillTo(KeyKind::kRandom, bench.items() + 1);
          if (Marks().count("b2t") != 0) return Cost{pmem::counters.flushes, pmem::counters.fences};
          if (!placed) bench.table().Expand();
        }
      }(),
      "the same steps as a movement within a level");
  AddCost(figures, "erase",
          CostAt(options, "erase", 100,
                 [at = uint64_t{0}](BenchTable& bench) mutable {
                   bench.table().Erase(BenchTable::MakeItem(KeyKind::kRandom, at++));
                 }),
          "the token");
  const auto update = [at = uint64_t{0}](BenchTable& bench) mutable {
    Item item = BenchTable::MakeItem(KeyKind::kRandom, at++ % bench.items());
    item.bytes[16] ^= 0xff;
    bench.table().Update(item);
  };
  AddCost(figures, "log-free update", CostAt(options, "update.logfree", 100, update), "item, then both tokens");
  AddCost(
      figures, "logged update", CostAt(options, "update.logged", capacity * 2 / 3, update),
      "old item to the log, log valid, new value in place, log invalid; the paper does not say how its log is marked");
}

}  // namespace powercut::level::fidelity

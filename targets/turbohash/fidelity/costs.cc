// The costs of the protocol in flushes and fences (3.4), and the contents of a shard (1).
#include "targets/turbohash/fidelity/bench_table.h"

namespace powercut::turbohash::fidelity {
namespace {

double FencesOf(uint64_t operations, const auto& work) {
  pmem::counters = {};
  work();
  return static_cast<double>(pmem::counters.fences) / static_cast<double>(operations);
}

}  // namespace

void Costs(Figures* figures) {
  constexpr uint64_t kItems = 10'000;  // the table holds them without growing
  BenchTable bench(TableOf(4, 8), 16u << 20);
  const double insert = FencesOf(kItems, [&] { bench.FillTo(kItems); });
  const double update = FencesOf(kItems, [&] {
    for (uint64_t i = 0; i < kItems; ++i) bench.Update(i);
  });
  const double erase = FencesOf(kItems, [&] { bench.EraseAll(); });
  const std::string counted = "counted over 10^4 operations; reproduced: equal";
  figures->Add("Algorithm 2: fences of an insert", 2.0, insert, "fences", insert == 2, counted);
  figures->Add("Algorithm 2: fences of an update", 2.0, update, "fences", update == 2, counted);
  figures->Add("Algorithm 3: fences of a delete", 1.0, erase, "fences", erase == 1, counted);
  const double holds = (1 << 20) / sizeof(Bucket) * kMostItems;
  figures->Add("Section 1: 16-byte items in a shard of 1 MB", 53'000.0, holds, "items",
               holds >= 52'500 && holds < 53'500, "buckets times 13; reproduced: rounds to it");
}

}  // namespace powercut::turbohash::fidelity

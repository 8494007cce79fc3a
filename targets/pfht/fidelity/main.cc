// powercut-fidelity-pfht: the Level hashing paper's figures on PFHT that do not depend on a machine, as one JSON object
// {"figures": [...]} on stdout. Deterministic.
//
// The text prints no number for PFHT but "over 90 %": a maximum load factor above 0.90.
#include <algorithm>

#include "targets/common/bench_table.h"
#include "targets/pfht/table.h"

POWERCUT_COUNT_MARKS

namespace powercut::pfht {
namespace {

using fidelity::BenchTable;
using fidelity::Cost;
using fidelity::CostOf;
using fidelity::Figures;
using fidelity::Join;
using fidelity::Marks;

// Returns options for a fixed number of slots in the table, given the slots of a bucket.
Options TableOf(uint32_t slots, bool paper_size = false) {
  Options options = fidelity::Defaults<Table>(16, 15);
  options.auto_expand = false;
  options.slots = static_cast<uint8_t>(slots);
  options.buckets_log2 = fidelity::PaperLog2(paper_size, slots == 4 ? 16 : slots == 8 ? 15 : 14);
  return options;
}

uint64_t Places(const Options& options, Table& table) {
  return table.body().shape.buckets() * options.slots + table.body().shape.stash_capacity;
}

// "PFHT reaches the maximum load factor when the stash is full" (4.2.1).
double MaximumLoad(const Options& options, bool paper_size = false) {
  BenchTable<Table> bench(options, paper_size ? fidelity::kPaperPool : fidelity::kSmallPool);
  bench.FillTo(~uint64_t{0});
  return static_cast<double>(bench.items()) / static_cast<double>(Places(options, bench.table()));
}

void MaximumLoadFactors(Figures* figures) {
  const bool paper_size = figures->paper_size();
  std::vector<double> loads;
  for (uint32_t slots : {4u, 8u, 16u}) {
    const double load = MaximumLoad(TableOf(slots, paper_size), paper_size);
    loads.push_back(load);
    figures->AddAtItsSize("OSDI'18, Fig. 8: maximum load factor, " + std::to_string(slots) + " slots", "> 0.90", load,
                          "items/places", load > 0.90, "string keys until the stash, 3 % of the places, is full");
  }
  figures->AddAtItsSize("OSDI'18, Fig. 8: more slots in a bucket, higher maximum load factor", "rising", Join(loads),
                        "items/places", std::is_sorted(loads.begin(), loads.end()), "4, 8 and 16 slots");
  Options emptier_first = TableOf(4, paper_size);
  emptier_first.choice = Choice::kLessLoaded;
  const double emptier = MaximumLoad(emptier_first, paper_size);
  figures->AddAtItsSize("OSDI'18, Fig. 8: maximum load factor, 4 slots, the emptier bucket first", "> 0.90", emptier,
                        "items/places", emptier > 0.90,
                        "choice=less_loaded; the paper does not say which bucket PFHT tries first");
  Options without = TableOf(4, paper_size);
  without.stash = 0;
  const double bare = MaximumLoad(without, paper_size);
  figures->Add(
      "OSDI'18, 2.3: maximum load factor without the stash", "low", bare, "items/places", bare < loads[0],
      "\"only allow one-time eviction ..., which ... results in low load factor\"; reproduced: lower than with it");
}

// "The insertion latency of PFHT increases since many items need to be inserted in the stash when the load factor is
// high" (4.2.2): the flushes behind that latency.
void InsertionsAtLoads(Figures* figures) {
  const Options options = TableOf(4);
  BenchTable<Table> bench(options, fidelity::kSmallPool);
  const auto places = static_cast<double>(Places(options, bench.table()));
  std::vector<double> flushes;
  for (double load = 0.1; load < 0.91; load += 0.1) {
    bench.FillTo(static_cast<uint64_t>(load * places));
    const Cost cost = CostOf([&] { bench.FillTo(bench.items() + 2'000); });
    flushes.push_back(static_cast<double>(cost.flushes) / 2'000);
  }
  figures->Add("OSDI'18, Fig. 10: flushes of an insertion at loads from 0.1 to 0.9", "increases", Join(flushes),
               "flushes", std::is_sorted(flushes.begin(), flushes.end()) && flushes.back() > flushes.front() + 0.5,
               "the paper measures time; reproduced: never falls, and rises by more than half a flush");
}

// The cost of the first insertion that reaches `mark`.
Cost InsertThatReaches(const char* mark) {
  Options options = TableOf(4);
  options.buckets_log2 = 8;
  BenchTable<Table> bench(options, fidelity::kSmallPool);
  for (;;) {
    Marks().clear();
    const Cost cost = CostOf([&] {
      if (bench.Insert() != POWERCUT_OK) throw std::runtime_error("no insertion reaches a mark");
    });
    if (Marks().count(mark) != 0) return cost;
  }
}

void Costs(Figures* figures) {
  AddCost(figures, "insert into a bucket", InsertThatReaches("insert.bucket"), "item, then token");
  AddCost(figures, "insert with a displacement", InsertThatReaches("move"),
          "copy, its token, the old token; then item, token");
  const Cost stash = InsertThatReaches("insert.stash");
  figures->Add(
      "OSDI'18, 4.2.2: insert into the stash", "extra writes", powercut::fidelity::Text(stash), "per operation",
      stash.flushes > 2,
      "\"needs to allocate the node space and revise pointers\": allocator, node, head; more than an insert into a "
      "bucket");
  BenchTable<Table> bench(TableOf(4), fidelity::kSmallPool);
  bench.FillTo(1'000);
  AddCost(figures, "erase", CostOf([&] { bench.Erase(3); }), "the token");
  AddCost(figures, "update", CostOf([&] { bench.Update(5); }),
          "old item to the log, log valid, new value in place, log invalid; the paper does not say how its log is "
          "marked");
  Options log_free = TableOf(4);
  log_free.update = UpdateKind::kOpportunistic;
  BenchTable<Table> beside(log_free, fidelity::kSmallPool);
  beside.FillTo(1'000);
  AddCost(figures, "log-free update", CostOf([&] { beside.Update(5); }), "item, then both tokens");
}

}  // namespace
}  // namespace powercut::pfht

int main(int argc, char** argv) {
  return powercut::fidelity::Run(argc, argv, "pfht", [](powercut::fidelity::Figures* figures) {
    powercut::pfht::MaximumLoadFactors(figures);
    powercut::pfht::InsertionsAtLoads(figures);
    powercut::pfht::Costs(figures);
  });
}

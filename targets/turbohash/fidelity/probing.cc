// Figures 11 and 12: the distance of a search for an absent key, its growth by deleted slots, and the effect of garbage
// collection.
//
// A distance is the number of buckets that a search visits, the home bucket included (section 2, and the authors' data:
// their averages of 1.34 and 6.13 count it so). A load factor counts the 13 slots of a bucket that take items, as in
// Fig. 10.
#include <cmath>
#include <stdexcept>

#include "targets/turbohash/fidelity/authors_table.h"

namespace powercut::turbohash::fidelity {
namespace {

// The authors' runs have shards of 64 buckets. Shards do not know of each other: their number changes no average.
class LoadedTable : public BenchTable {
 public:
  explicit LoadedTable(double load) : BenchTable(TableOf(8, 6), 64u << 20) {
    FillTo(static_cast<uint64_t>(load * static_cast<double>(slots())));
  }
  // All keys are deleted and as many inserted.
  void Reload() {
    const uint64_t items = this->items();
    EraseAll();
    FillTo(items);
  }
};

// Figures 11a and 11b as the authors ran them (testbench/repeat_delete.sh of their repository), at load 0.8: all keys
// are deleted and as many others inserted.
void AsTheAuthors(Figures* figures) {
  AuthorsTable table(17, 6, uint64_t{9} << 28);
  const auto items = static_cast<uint64_t>(0.8 * static_cast<double>(table.slots()));
  const std::vector<uint64_t> first = table.Keys(0, items), second = table.Keys(items, 2 * items);
  const std::vector<uint64_t> absent = table.Keys(2 * items, 3 * items);
  const std::string set_up = AuthorsTable::kSetUp + std::string("128K shards of 64 buckets; reproduced: ");
  const auto add = [&](const char* figure, double paper, double measured, double tolerance) {
    figures->Add(figure, paper, measured, "buckets", std::abs(measured - paper) <= tolerance,
                 set_up + "within " + Join({tolerance}));
  };
  table.Insert(first.data(), first.size());
  const Probes before = ProbesOf(table.table(), absent);
  add("Fig. 11a: average probe distance of absent keys, load factor 0.8", 1.34, before.average, 0.2);
  figures->Add("Fig. 11a: longest probe distance of absent keys, load factor 0.8", 6.0, before.longest, "buckets",
               before.longest >= 5 && before.longest <= 9, set_up + "from 5 to 9");
  table.Erase(first);
  table.Insert(second.data(), second.size());
  const Probes after = ProbesOf(table.table(), absent);
  add("Fig. 11b: average probe distance after all keys were deleted and as many inserted", 6.13, after.average,
      6.13 / 4);
}

}  // namespace

void Probing(Figures* figures) {
  std::vector<double> loaded, reloaded;
  for (int percent = 10; percent <= 80; percent += 10) {
    LoadedTable table(percent / 100.0);
    loaded.push_back(table.AbsentProbes().average);
    table.Reload();
    reloaded.push_back(table.AbsentProbes().average);
  }
  const std::string shards = "256 shards of 64 buckets, scope 16, 10^5 absent keys; ";
  LoadedTable table(0.8);
  const Probes before = table.AbsentProbes();
  AsTheAuthors(figures);
  figures->AddOurs(
      "Fig. 11a: average probe distance of absent random keys at loads from 0.1 to 0.8", Join(loaded), "buckets",
      shards + "random keys crowd somewhere; the longest distance at 0.8 is " + std::to_string(before.longest));

  table.Reload();
  const Probes after = table.AbsentProbes();
  figures->AddOurs("Fig. 11b: the same after all keys were deleted and as many inserted", Join(reloaded), "buckets",
                   shards + "an insert takes the first deleted slot of its path, as the text says");
  figures->Add("4.6: deleting all keys and inserting as many makes probes longer", "increases",
               Join({before.average, after.average}), "buckets", after.average > before.average,
               shards + "load factor 0.8");
  if (table.table().Maintain("gc") != POWERCUT_OK) throw std::runtime_error("a garbage collection failed");
  const double collected = table.AbsentProbes().average;
  const double apart = collected - before.average;
  figures->Add("Fig. 12c: average probe distance after garbage collection", "as before the deletes",
               Join({before.average, collected}), "buckets", apart > -0.1 && apart < 0.1,
               shards + "load factor 0.8; reproduced: within 0.1");
}

}  // namespace powercut::turbohash::fidelity

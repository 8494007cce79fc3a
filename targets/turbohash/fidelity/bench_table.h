// A table to measure: a pool in ordinary memory, and keys by number.
#ifndef POWERCUT_TARGETS_TURBOHASH_FIDELITY_BENCH_TABLE_H_
#define POWERCUT_TARGETS_TURBOHASH_FIDELITY_BENCH_TABLE_H_

#include "targets/common/bench_table.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash::fidelity {

using powercut::fidelity::Figures;
using powercut::fidelity::Join;

// The hardened variant.
inline Options TableOf(uint8_t shards_log2, uint8_t buckets_log2) {
  Options options = powercut::fidelity::Defaults<Table>(8, 8);
  options.hardened = true;
  options.shards_log2 = shards_log2;
  options.buckets_log2 = buckets_log2;
  return options;
}

struct Probes {
  double average = 0;
  uint32_t longest = 0;
};

// Over the absent keys of these numbers: buckets that a search visits.
Probes ProbesOf(const Table& table, const std::vector<uint64_t>& absent);
// Slots that take items in the first `shards` shards: 13 of a bucket, as the authors' code counts its capacity.
uint64_t SlotsOf(const Table& table, uint64_t shards);

class BenchTable : public powercut::fidelity::FreshTable<Table> {
 public:
  BenchTable(const Options& options, uint64_t pool_size) : FreshTable(options, pool_size) {}

  // Inserts fresh keys until `items` of them are in the table.
  void FillTo(uint64_t items);
  void Update(uint64_t key);
  void EraseAll();

  uint64_t items() const { return last_ - first_; }
  uint64_t slots() const { return SlotsOf(table(), table().options().shards()); }
  double load() const { return static_cast<double>(items()) / static_cast<double>(slots()); }
  // Buckets that a search for an absent key visits, over 10^5 such keys.
  Probes AbsentProbes() const;

 private:
  uint64_t first_ = 0, last_ = 0;  // keys in the table: [first, last)
};

// Each adds its figures.
void LoadFactors(Figures* figures);  // load_factors.cc
void Probing(Figures* figures);      // probing.cc
void Costs(Figures* figures);        // costs.cc

}  // namespace powercut::turbohash::fidelity
#endif  // POWERCUT_TARGETS_TURBOHASH_FIDELITY_BENCH_TABLE_H_

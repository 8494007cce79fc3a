// A table to measure: a pool in ordinary memory, and keys by number.
#ifndef POWERCUT_TARGETS_TURBOHASH_FIDELITY_BENCH_TABLE_H_
#define POWERCUT_TARGETS_TURBOHASH_FIDELITY_BENCH_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "targets/turbohash/table.h"

namespace powercut::turbohash::fidelity {

struct Probes {
  double average = 0;
  uint32_t longest = 0;
};

class BenchTable {
 public:
  BenchTable(const Options& options, uint64_t pool_size);
  BenchTable(const BenchTable&) = delete;
  BenchTable& operator=(const BenchTable&) = delete;
  ~BenchTable();

  // Inserts fresh keys until `items` of them are in the table.
  void FillTo(uint64_t items);
  void Update(uint64_t key);
  void EraseAll();

  Table& table() { return *table_; }
  uint64_t items() const { return last_ - first_; }
  uint64_t slots() const;
  double load() const { return static_cast<double>(items()) / static_cast<double>(slots()); }
  // Buckets that a search for an absent key visits, over 10^5 such keys.
  Probes AbsentProbes() const;

 private:
  powercut_pool pool_{};
  std::unique_ptr<Table> table_;
  uint64_t first_ = 0, last_ = 0;  // keys in the table: [first, last)
};

// One row of the table: the paper's number beside ours.
nlohmann::json Row(std::string figure, nlohmann::json paper, nlohmann::json measured, std::string unit, bool reproduced,
                   std::string note);
// "0.934, 0.981": three digits each.
std::string Join(const std::vector<double>& values);

// Each adds its rows.
void LoadFactors(nlohmann::json* rows);  // load_factors.cc
void Probing(nlohmann::json* rows);      // probing.cc
void Costs(nlohmann::json* rows);        // costs.cc

}  // namespace powercut::turbohash::fidelity
#endif  // POWERCUT_TARGETS_TURBOHASH_FIDELITY_BENCH_TABLE_H_

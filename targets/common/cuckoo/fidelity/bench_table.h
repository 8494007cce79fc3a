// A cuckoo table to measure: a pool in ordinary memory, keys by number, and what the protocol was seen to do.
#ifndef POWERCUT_TARGETS_COMMON_CUCKOO_FIDELITY_BENCH_TABLE_H_
#define POWERCUT_TARGETS_COMMON_CUCKOO_FIDELITY_BENCH_TABLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "targets/common/cuckoo/table.h"

namespace powercut::cuckoo::fidelity {

// How often each powercut_mark was reached since the last clear().
std::map<std::string_view, uint64_t>& Marks();

class BenchTable {
 public:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  // `hardened`, 16-byte keys and 15-byte values, no expansion on failure.
  explicit BenchTable(Settings settings);
  BenchTable(const BenchTable&) = delete;
  BenchTable& operator=(const BenchTable&) = delete;
  ~BenchTable();

  // Inserts the next random key; false: it found no place. The key is used up either way.
  bool InsertNext();
  // Inserts fresh keys until one fails.
  void FillUp();
  // Inserts fresh keys, failing ones too, until the load factor is reached; returns the share of those that failed.
  double FailuresUntil(double load);

  Table& table() { return *table_; }
  uint64_t items() const { return items_; }
  double load() const { return static_cast<double>(items_) / static_cast<double>(table_->slots()); }

 private:
  powercut_pool pool_{};
  Table* table_ = nullptr;
  uint64_t next_key_ = 0;
  uint64_t items_ = 0;
};

// The load factor at which an insert fails first.
double MaximumLoad(BenchTable::Settings settings);

// One row of the table: the paper's number beside ours.
nlohmann::json Row(std::string figure, nlohmann::json paper, nlohmann::json measured, std::string unit, bool reproduced,
                   std::string note);
// "0.934, 0.981": three digits each.
std::string Join(const std::vector<double>& values);

// Prints {"figures": rows} and returns the process's exit status.
int Print(void (*add)(nlohmann::json* rows));

}  // namespace powercut::cuckoo::fidelity
#endif  // POWERCUT_TARGETS_COMMON_CUCKOO_FIDELITY_BENCH_TABLE_H_

// A table to measure: a pool in ordinary memory, keys by number, and what the protocol was seen to do.
#ifndef POWERCUT_TARGETS_LEVEL_FIDELITY_BENCH_TABLE_H_
#define POWERCUT_TARGETS_LEVEL_FIDELITY_BENCH_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"
#include "targets/level/table.h"

namespace powercut::level::fidelity {

// How often each powercut_mark was reached since the last clear().
std::map<std::string_view, uint64_t>& Marks();

enum class KeyKind { kRandom, kSequential, kString, kNormal };

class BenchTable {
 public:
  BenchTable(const Options& options, uint64_t pool_size);
  BenchTable(const BenchTable&) = delete;
  BenchTable& operator=(const BenchTable&) = delete;
  ~BenchTable();

  // The i-th key of a kind; distinct for distinct i.
  static Item MakeItem(KeyKind kind, uint64_t i);
  // Inserts fresh keys until one fails or `items` are in the table; returns whether none failed.
  bool FillTo(KeyKind kind, uint64_t items);

  Table& table() { return *table_; }
  uint64_t items() const { return items_; }
  uint64_t slots() const;
  double load() const { return static_cast<double>(items_) / static_cast<double>(slots()); }

  // visit(level index, tokens of the bucket) for every bucket of the table.
  template <typename Visit>
  void ForEachBucket(Visit visit) const {
    const Geometry& geometry = table_->geometry();
    for (int i = 0; i < table_->level_count(); ++i) {
      const Level& level = table_->level(i);
      for (uint64_t b = 0; b < level.buckets(); ++b) {
        uint8_t* bucket = level.base + b * geometry.stride;
        visit(i, bucket, geometry.LoadTokens(bucket) & geometry.full());
      }
    }
  }

 private:
  powercut_pool pool_{};
  Table* table_ = nullptr;
  uint64_t items_ = 0;
};

// One row of the table: the paper's number beside ours.
nlohmann::json Row(std::string figure, nlohmann::json paper, nlohmann::json measured, std::string unit, bool reproduced,
                   std::string note);
// "0.934, 0.981": three digits each.
std::string Join(const std::vector<double>& values);

// Each adds its rows.
void LoadFactors(nlohmann::json* rows);       // load_factors.cc
void Resizing(nlohmann::json* rows);          // resizing.cc
void CostOfOperations(nlohmann::json* rows);  // costs.cc

}  // namespace powercut::level::fidelity
#endif  // POWERCUT_TARGETS_LEVEL_FIDELITY_BENCH_TABLE_H_

// A table to measure: a pool in ordinary memory, keys by number, and what the protocol was seen to do.
#ifndef POWERCUT_TARGETS_LEVEL_FIDELITY_BENCH_TABLE_H_
#define POWERCUT_TARGETS_LEVEL_FIDELITY_BENCH_TABLE_H_

#include "targets/common/bench_table.h"
#include "targets/level/table.h"

namespace powercut::level::fidelity {

using powercut::fidelity::Figures;
using powercut::fidelity::Join;
using powercut::fidelity::Marks;

enum class KeyKind { kRandom, kSequential, kString, kNormal };

class BenchTable : public powercut::fidelity::FreshTable<Table> {
 public:
  BenchTable(const Options& options, uint64_t pool_size) : FreshTable(options, pool_size) {}

  // The i-th key of a kind; distinct for distinct i.
  static Item MakeItem(KeyKind kind, uint64_t i);
  // Inserts fresh keys, from the `first`-th on, until one fails or `items` are in the table; returns whether none
  // failed.
  bool FillTo(KeyKind kind, uint64_t items, uint64_t first = 0);

  uint64_t items() const { return items_; }
  uint64_t slots() const;
  double load() const { return static_cast<double>(items_) / static_cast<double>(slots()); }

  // visit(level index, tokens of the bucket) for every bucket of the table.
  template <typename Visit>
  void ForEachBucket(Visit visit) const {
    const Geometry& geometry = table().geometry();
    for (int i = 0; i < table().level_count(); ++i) {
      const Level& level = table().level(i);
      for (uint64_t b = 0; b < level.buckets(); ++b) {
        uint8_t* bucket = level.base + b * geometry.stride;
        visit(i, bucket, geometry.LoadTokens(bucket) & geometry.full());
      }
    }
  }

 private:
  uint64_t items_ = 0;
};

// Each adds its figures.
void LoadFactors(Figures* figures);       // load_factors.cc
void Resizing(Figures* figures);          // resizing.cc
void CostOfOperations(Figures* figures);  // costs.cc

}  // namespace powercut::level::fidelity
#endif  // POWERCUT_TARGETS_LEVEL_FIDELITY_BENCH_TABLE_H_

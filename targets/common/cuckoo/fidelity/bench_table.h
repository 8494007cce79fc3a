// A cuckoo table to measure: a pool in ordinary memory, keys by number, and what the protocol was seen to do.
#ifndef POWERCUT_TARGETS_COMMON_CUCKOO_FIDELITY_BENCH_TABLE_H_
#define POWERCUT_TARGETS_COMMON_CUCKOO_FIDELITY_BENCH_TABLE_H_

#include "targets/common/bench_table.h"
#include "targets/common/cuckoo/table.h"

namespace powercut::cuckoo::fidelity {

using powercut::fidelity::Figures;
using powercut::fidelity::Join;
using powercut::fidelity::Marks;

class BenchTable : public powercut::fidelity::FreshTable<Table> {
 public:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  // `hardened`, 16-byte keys and 15-byte values, no expansion on failure.
  explicit BenchTable(Settings settings, uint64_t pool_size = powercut::fidelity::kSmallPool);

  // Inserts the next random key; false: it found no place. The key is used up either way.
  bool InsertNext();
  // Inserts fresh keys until one fails.
  void FillUp();
  // Inserts fresh keys, failing ones too, until the load factor is reached; returns the share of those that failed.
  double FailuresUntil(double load);

  uint64_t items() const { return items_; }
  double load() const { return static_cast<double>(items_) / static_cast<double>(table().slots()); }

 private:
  uint64_t next_key_ = 0;
  uint64_t items_ = 0;
};

// The load factor at which an insert fails first.
double MaximumLoad(BenchTable::Settings settings, uint64_t pool_size = powercut::fidelity::kSmallPool);

// Adds the figures of a scheme, whose main.cc defines it; main() is here.
void Measure(Figures* figures);

}  // namespace powercut::cuckoo::fidelity
#endif  // POWERCUT_TARGETS_COMMON_CUCKOO_FIDELITY_BENCH_TABLE_H_

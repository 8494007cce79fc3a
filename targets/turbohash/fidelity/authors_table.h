// A table as the authors' benchmark fills it (src/test/hash_bench.cc of their repository): the numbers 0, 1, 2, … as
// keys in random order, their hash function, the last deleted slot of a path, a scope of 15 buckets.
//
// Shards do not know of each other, so only the first 1,024 shards are filled, with the keys that belong there.
#ifndef POWERCUT_TARGETS_TURBOHASH_FIDELITY_AUTHORS_TABLE_H_
#define POWERCUT_TARGETS_TURBOHASH_FIDELITY_AUTHORS_TABLE_H_

#include "targets/turbohash/fidelity/bench_table.h"

namespace powercut::turbohash::fidelity {

class AuthorsTable : public powercut::fidelity::FreshTable<Table> {
 public:
  static constexpr uint64_t kFilled = 1024;
  static constexpr const char* kSetUp =
      "the authors' keys, hash function and choice of deleted slots; the first 1,024 of ";

  AuthorsTable(uint8_t shards_log2, uint8_t buckets_log2, uint64_t pool_size);

  // Keys of the filled shards among the numbers [first, last), in random order.
  std::vector<uint64_t> Keys(uint64_t first, uint64_t last) const;
  void Insert(const uint64_t* keys, uint64_t count);
  void Erase(const std::vector<uint64_t>& keys);

  // `load` is that of the filled shards; `slots` are those of all shards.
  double load() const { return static_cast<double>(items_) / static_cast<double>(SlotsOf(table(), kFilled)); }
  uint64_t slots() const { return SlotsOf(table(), table().options().shards()); }

 private:
  uint64_t items_ = 0;
};

}  // namespace powercut::turbohash::fidelity
#endif  // POWERCUT_TARGETS_TURBOHASH_FIDELITY_AUTHORS_TABLE_H_

#include "targets/turbohash/fidelity/bench_table.h"

namespace powercut::turbohash::fidelity {
namespace {

using powercut::fidelity::Spread;

constexpr uint64_t kAbsent = uint64_t{1} << 40;  // keys from here on are never inserted

}  // namespace

void BenchTable::FillTo(uint64_t items) {
  for (; this->items() < items; ++last_) {
    const uint64_t key = Spread(last_ + 1);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&key);
    if (table().Insert({bytes, sizeof key}, {bytes, sizeof key}) != POWERCUT_OK)
      throw std::runtime_error("an insert failed");
  }
}

void BenchTable::Update(uint64_t key) {
  const uint64_t word = Spread(key + 1);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&word);
  if (table().Update({bytes, sizeof word}, {bytes, sizeof word}) != POWERCUT_OK)
    throw std::runtime_error("an update failed");
}

void BenchTable::EraseAll() {
  for (; first_ < last_; ++first_) {
    const uint64_t key = Spread(first_ + 1);
    if (table().Erase({reinterpret_cast<const uint8_t*>(&key), sizeof key}) != POWERCUT_OK)
      throw std::runtime_error("a delete failed");
  }
}

uint64_t SlotsOf(const Table& table, uint64_t shards) {
  uint64_t buckets = 0;
  for (uint64_t i = 0; i < shards; ++i) buckets += table.shard(i).buckets();
  return buckets * kMostItems;
}

Probes ProbesOf(const Table& table, const std::vector<uint64_t>& absent) {
  uint64_t visited = 0;
  Probes probes;
  for (const uint64_t& key : absent) {
    const Bytes bytes = {reinterpret_cast<const uint8_t*>(&key), sizeof key};
    const Path path = table.Find(table.HomeOf(bytes), bytes);
    visited += path.distance;
    probes.longest = std::max(probes.longest, path.distance);
  }
  probes.average = static_cast<double>(visited) / static_cast<double>(absent.size());
  return probes;
}

Probes BenchTable::AbsentProbes() const {
  std::vector<uint64_t> keys(100'000);
  for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = Spread(kAbsent + i);
  return ProbesOf(table(), keys);
}

}  // namespace powercut::turbohash::fidelity

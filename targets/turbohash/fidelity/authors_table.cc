#include "targets/turbohash/fidelity/authors_table.h"

#include <random>

namespace powercut::turbohash::fidelity {
namespace {

Options AuthorsOptions(uint8_t shards_log2, uint8_t buckets_log2) {
  Options options = TableOf(shards_log2, buckets_log2);
  options.multiplied = true;
  options.last_deleted = true;
  options.scope = 15;
  return options;
}

Bytes BytesOf(const uint64_t& key) { return {reinterpret_cast<const uint8_t*>(&key), sizeof key}; }

}  // namespace

AuthorsTable::AuthorsTable(uint8_t shards_log2, uint8_t buckets_log2, uint64_t pool_size)
    : FreshTable(AuthorsOptions(shards_log2, buckets_log2), pool_size) {}

std::vector<uint64_t> AuthorsTable::Keys(uint64_t first, uint64_t last) const {
  std::vector<uint64_t> keys;
  for (uint64_t key = first; key < last; ++key) {
    if (table().HomeOf(BytesOf(key)).shard < kFilled) keys.push_back(key);
  }
  std::mt19937_64 random(first);
  for (uint64_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[random() % i]);
  return keys;
}

void AuthorsTable::Insert(const uint64_t* keys, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (table().Insert(BytesOf(keys[i]), BytesOf(keys[i])) != POWERCUT_OK) throw std::runtime_error("an insert failed");
  }
  items_ += count;
}

void AuthorsTable::Erase(const std::vector<uint64_t>& keys) {
  for (const uint64_t& key : keys) {
    if (table().Erase(BytesOf(key)) != POWERCUT_OK) throw std::runtime_error("a delete failed");
  }
  items_ -= keys.size();
}

}  // namespace powercut::turbohash::fidelity

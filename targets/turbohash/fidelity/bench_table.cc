#include "targets/turbohash/fidelity/bench_table.h"

#include <sys/mman.h>

#include <cstdio>
#include <stdexcept>

namespace powercut::turbohash::fidelity {
namespace {

// splitmix64's finaliser: a bijection, so distinct numbers give distinct keys.
uint64_t KeyWord(uint64_t i) {
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9;
  i = (i ^ (i >> 27)) * 0x94d049bb133111eb;
  return i ^ (i >> 31);
}

constexpr uint64_t kAbsent = uint64_t{1} << 40;  // keys from here on are never inserted

}  // namespace

BenchTable::BenchTable(const Options& options, uint64_t pool_size) {
  pool_.size = pool_size;
  void* at = mmap(nullptr, pool_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("cannot map a pool; free some memory and run again");
  pool_.base = static_cast<uint8_t*>(at);
  Table* opened = nullptr;
  if (Table::Format(pool_, options) != POWERCUT_OK || Table::Open(pool_, options, &opened) != POWERCUT_OK) {
    munmap(pool_.base, pool_.size);
    throw std::runtime_error("cannot format a table in a fresh pool");
  }
  table_.reset(opened);
}

BenchTable::~BenchTable() {
  table_.reset();
  munmap(pool_.base, pool_.size);
}

void BenchTable::FillTo(uint64_t items) {
  for (; this->items() < items; ++last_) {
    const uint64_t key = KeyWord(last_ + 1);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&key);
    if (table_->Insert(bytes, bytes) != POWERCUT_OK) throw std::runtime_error("an insert failed");
  }
}

void BenchTable::Update(uint64_t key) {
  const uint64_t word = KeyWord(key + 1);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&word);
  if (table_->Update(bytes, bytes) != POWERCUT_OK) throw std::runtime_error("an update failed");
}

void BenchTable::EraseAll() {
  for (; first_ < last_; ++first_) {
    const uint64_t key = KeyWord(first_ + 1);
    if (table_->Erase(reinterpret_cast<const uint8_t*>(&key)) != POWERCUT_OK)
      throw std::runtime_error("a delete failed");
  }
}

uint64_t BenchTable::slots() const {
  uint64_t buckets = 0;
  for (uint64_t i = 0; i < table_->options().shards(); ++i) buckets += table_->shard(i).buckets();
  return buckets * kSlots;
}

Probes BenchTable::AbsentProbes() const {
  constexpr uint64_t kKeys = 100'000;
  uint64_t visited = 0;
  Probes probes;
  for (uint64_t i = 0; i < kKeys; ++i) {
    const uint64_t key = KeyWord(kAbsent + i);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&key);
    const Path path = table_->Find(table_->HomeOf(bytes), bytes);
    visited += path.distance;
    probes.longest = std::max(probes.longest, path.distance);
  }
  probes.average = static_cast<double>(visited) / static_cast<double>(kKeys);
  return probes;
}

nlohmann::json Row(std::string figure, nlohmann::json paper, nlohmann::json measured, std::string unit, bool reproduced,
                   std::string note) {
  return {{"scheme", "turbohash"},           {"figure", std::move(figure)}, {"paper", std::move(paper)},
          {"measured", std::move(measured)}, {"unit", std::move(unit)},     {"reproduced", reproduced},
          {"note", std::move(note)}};
}

std::string Join(const std::vector<double>& values) {
  std::string text;
  for (double value : values) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.3f", text.empty() ? "" : ", ", value);
    text += number;
  }
  return text;
}

}  // namespace powercut::turbohash::fidelity

#include "targets/level/fidelity/bench_table.h"

#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>

// In a program without the tracer's runtime the weak powercut_mark of pmem.h is this one.
extern "C" void powercut_mark(const char* name) { ++powercut::level::fidelity::Marks()[name]; }

namespace powercut::level::fidelity {

std::map<std::string_view, uint64_t>& Marks() {
  static std::map<std::string_view, uint64_t> marks;
  return marks;
}

BenchTable::BenchTable(const Options& options, uint64_t pool_size) {
  pool_.size = pool_size;
  void* at = mmap(nullptr, pool_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("cannot map a pool; free some memory and run again");
  pool_.base = static_cast<uint8_t*>(at);
  if (Table::Format(pool_, options) != POWERCUT_OK || Table::Open(pool_, options, &table_) != POWERCUT_OK) {
    throw std::runtime_error("cannot format a table in a fresh pool");
  }
}

BenchTable::~BenchTable() {
  delete table_;
  munmap(pool_.base, pool_.size);
}

Item BenchTable::MakeItem(KeyKind kind, uint64_t i) {
  // splitmix64's finaliser: a bijection, so distinct numbers give distinct keys.
  const auto spread = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  };
  Item item;
  uint64_t words[2] = {0, 0};
  switch (kind) {
    case KeyKind::kRandom:
      words[0] = spread(i + 1);
      words[1] = spread(i + 0x9E3779B97F4A7C15);
      std::memcpy(item.bytes, words, sizeof words);
      break;
    case KeyKind::kSequential:
      std::memcpy(item.bytes, &i, sizeof i);
      break;
    case KeyKind::kString: {
      char text[32];
      std::snprintf(text, sizeof text, "user%012llu", static_cast<unsigned long long>(i));
      std::memcpy(item.bytes, text, 16);
      break;
    }
    case KeyKind::kNormal: {
      // A skewed cloud of integers (sum of three uniforms); the serial number keeps them apart.
      const uint64_t sum = (spread(i) >> 42) + (spread(i + 77) >> 42) + (spread(i + 777) >> 42);
      words[0] = sum;
      words[1] = i;
      std::memcpy(item.bytes, words, sizeof words);
      break;
    }
  }
  std::memcpy(item.bytes + 16, &i, sizeof i);
  return item;
}

bool BenchTable::FillTo(KeyKind kind, uint64_t items) {
  while (items_ < items) {
    if (table_->Insert(MakeItem(kind, items_)) != POWERCUT_OK) return false;
    ++items_;
  }
  return true;
}

uint64_t BenchTable::slots() const {
  uint64_t buckets = 0;
  for (int i = 0; i < table_->level_count(); ++i) buckets += table_->level(i).buckets();
  return buckets * table_->geometry().slots;
}

nlohmann::json Row(std::string figure, nlohmann::json paper, nlohmann::json measured, std::string unit, bool reproduced,
                   std::string note) {
  return {{"scheme", "level"},         {"figure", std::move(figure)},
          {"paper", std::move(paper)}, {"measured", std::move(measured)},
          {"unit", std::move(unit)},   {"reproduced", reproduced},
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

}  // namespace powercut::level::fidelity

#include "targets/level/fidelity/bench_table.h"

#include <cstdio>

POWERCUT_COUNT_MARKS

namespace powercut::level::fidelity {

using powercut::fidelity::Spread;

Item BenchTable::MakeItem(KeyKind kind, uint64_t i) {
  Item item;
  uint64_t words[2] = {0, 0};
  switch (kind) {
    case KeyKind::kRandom:
      words[0] = Spread(i + 1);
      words[1] = Spread(i + 0x9E3779B97F4A7C15);
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
      const uint64_t sum = (Spread(i) >> 42) + (Spread(i + 77) >> 42) + (Spread(i + 777) >> 42);
      words[0] = sum;
      words[1] = i;
      std::memcpy(item.bytes, words, sizeof words);
      break;
    }
  }
  std::memcpy(item.bytes + 16, &i, sizeof i);
  return item;
}

bool BenchTable::FillTo(KeyKind kind, uint64_t items, uint64_t first) {
  while (items_ < items) {
    if (table().Insert(MakeItem(kind, first + items_)) != POWERCUT_OK) return false;
    ++items_;
  }
  return true;
}

uint64_t BenchTable::slots() const {
  uint64_t buckets = 0;
  for (int i = 0; i < table().level_count(); ++i) buckets += table().level(i).buckets();
  return buckets * table().geometry().slots;
}

}  // namespace powercut::level::fidelity

// For fidelity programs: a table to measure, in a pool of ordinary memory, with string keys by number. One file of the
// program may count marks, by POWERCUT_COUNT_MARKS.
#ifndef POWERCUT_TARGETS_COMMON_BENCH_TABLE_H_
#define POWERCUT_TARGETS_COMMON_BENCH_TABLE_H_

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "powercut/pmem.h"
#include "powercut/target.h"
#include "targets/common/config.h"
#include "targets/common/figures.h"

namespace powercut::fidelity {

// How often each powercut_mark was reached since the last clear().
inline std::map<std::string_view, uint64_t>& Marks() {
  static std::map<std::string_view, uint64_t> marks;
  return marks;
}

// splitmix64's finaliser: a bijection, so distinct numbers give distinct keys.
inline uint64_t Spread(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// "Every hash table is sized for 100 million key-value items" (Level hashing, OSDI'18, 4.1). Tables of ours have room
// for a 512th of 2^27, and as many with --paper-size.
inline uint8_t PaperLog2(bool paper_size, int small) { return static_cast<uint8_t>(small + (paper_size ? 9 : 0)); }
constexpr uint64_t kSmallPool = uint64_t{256} << 20, kPaperPool = uint64_t{6} << 30;

// The default options of a table with these sizes of key and value.
template <typename Table>
typename Table::Options Defaults(uint32_t key_size, uint32_t value_size) {
  typename Table::Options options;
  if (Table::ParseOptions(ConfigOf("", nullptr, 0, key_size, value_size), &options) != POWERCUT_OK) {
    throw std::runtime_error("the scheme takes no items of this size");
  }
  return options;
}

// A table in a fresh pool, which goes with it.
template <typename Table>
class FreshTable {
 public:
  template <typename Options>
  FreshTable(const Options& options, uint64_t pool_size) {
    pool_.size = pool_size;
    void* at = mmap(nullptr, pool_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("cannot map a pool; free some memory and run again");
    pool_.base = static_cast<uint8_t*>(at);
    if (Table::Format(pool_, options) != POWERCUT_OK || Table::Open(pool_, options, &table_) != POWERCUT_OK) {
      throw std::runtime_error("cannot format a table in a fresh pool");
    }
  }
  FreshTable(const FreshTable&) = delete;
  FreshTable& operator=(const FreshTable&) = delete;
  ~FreshTable() {
    delete table_;
    munmap(pool_.base, pool_.size);
  }

  Table& table() const { return *table_; }

 private:
  powercut_pool pool_{};
  Table* table_ = nullptr;
};

// Keys of 16 bytes, values of 15 (Level hashing, OSDI'18, 4.1).
template <typename Table>
class BenchTable : public FreshTable<Table> {
 public:
  using FreshTable<Table>::FreshTable;
  using FreshTable<Table>::table;

  // The paper fills its tables with "unique string keys" (4.2.1); `series` tells one filling from another.
  static std::string Key(uint64_t number, uint32_t series = 0) {
    char text[32];
    std::snprintf(text, sizeof text, "user%02u%010llu", series, static_cast<unsigned long long>(number));
    return text;
  }

  powercut_status Insert() {
    const powercut_status status = table().Insert(Bytes(Key(items_, series_)), Bytes(kValue));
    if (status == POWERCUT_OK) ++items_;
    return status;
  }
  powercut_status Update(uint64_t number) { return table().Update(Bytes(Key(number, series_)), Bytes(kOther)); }
  powercut_status Erase(uint64_t number) { return table().Erase(Bytes(Key(number, series_))); }
  // Inserts fresh keys until one fails or `items` are in the table; returns whether none failed.
  bool FillTo(uint64_t items) {
    while (items_ < items) {
      if (Insert() != POWERCUT_OK) return false;
    }
    return true;
  }

  void set_series(uint32_t series) { series_ = series; }
  uint64_t items() const { return items_; }

 private:
  inline static const std::string kValue = "value, 15 bytes", kOther = "other, 15 bytes";
  static const uint8_t* Bytes(const std::string& text) { return reinterpret_cast<const uint8_t*>(text.data()); }

  uint64_t items_ = 0;
  uint32_t series_ = 0;
};

#ifdef POWERCUT_PMEM_COUNT
struct Cost {
  uint64_t flushes = 0, fences = 0;
  bool operator==(const Cost&) const = default;
};

template <typename Operation>
Cost CostOf(Operation operation) {
  pmem::counters = {};
  operation();
  return {pmem::counters.flushes, pmem::counters.fences};
}

inline std::string Text(Cost cost) {
  return std::to_string(cost.flushes) + " flushes, " + std::to_string(cost.fences) + " fences";
}

inline void AddCost(Figures* figures, std::string what, Cost cost, std::string note) {
  figures->AddOurs(std::move(what), Text(cost), "per operation", std::move(note));
}
#endif

}  // namespace powercut::fidelity

// Defines powercut_mark for a program without the tracer's runtime; pmem.h declares the function as weak.
#define POWERCUT_COUNT_MARKS \
  extern "C" void powercut_mark(const char* name) { ++powercut::fidelity::Marks()[name]; }

#endif  // POWERCUT_TARGETS_COMMON_BENCH_TABLE_H_

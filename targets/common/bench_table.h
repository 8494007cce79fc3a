// For fidelity programs: a table to measure, in a pool of ordinary memory, with string keys by number, and rows of
// results. One file of the program may count marks, by POWERCUT_COUNT_MARKS.
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

#include "nlohmann/json.hpp"
#include "powercut/pmem.h"
#include "powercut/target.h"

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

// What a table of these sizes has where no option is given.
template <typename Table>
typename Table::Options Defaults(uint32_t key_size, uint32_t value_size) {
  typename Table::Options options;
  if (Table::ParseOptions({"", nullptr, 0, key_size, value_size, nullptr, 0}, &options) != POWERCUT_OK) {
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
#endif

// "0.934, 0.981": three digits each.
inline std::string Join(const std::vector<double>& values) {
  std::string text;
  for (double value : values) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.3f", text.empty() ? "" : ", ", value);
    text += number;
  }
  return text;
}

// The table of figures of one scheme.
class Figures {
 public:
  Figures(std::string scheme, bool paper_size) : scheme_(std::move(scheme)), paper_size_(paper_size) {}

  // Are tables as large as the paper's? Else those that would take minutes are smaller.
  bool paper_size() const { return paper_size_; }

  // What a paper prints, beside ours. What counts as reproduced comes from the paper, or was fixed before the first
  // measurement.
  void Add(std::string figure, nlohmann::json paper, nlohmann::json measured, std::string unit, bool reproduced,
           std::string note) {
    AddRow(std::move(figure), std::move(paper), std::move(measured), std::move(unit), reproduced, std::move(note));
  }
  // What no paper prints, or no paper's bound judges: there is nothing to reproduce.
  void AddOurs(std::string figure, nlohmann::json measured, std::string unit, std::string note) {
    AddRow(std::move(figure), nullptr, std::move(measured), std::move(unit), nullptr, std::move(note));
  }
  // What depends on the size of the table. A filling ends with the first unlucky key, so that a larger table is less
  // full: only at its size a paper's maximum has a verdict.
  void AddAtItsSize(std::string figure, nlohmann::json paper, nlohmann::json measured, std::string unit,
                    bool reproduced, std::string note) {
    if (paper_size_) {
      Add(std::move(figure), std::move(paper), std::move(measured), std::move(unit), reproduced,
          note + "; the paper's size");
    } else {
      const std::string bound = paper.is_string() ? paper.get<std::string>() : paper.dump();
      AddOurs(std::move(figure), std::move(measured), std::move(unit),
              note + "; smaller than the paper's table, which has " + bound + ": --paper-size judges that");
    }
  }
#ifdef POWERCUT_PMEM_COUNT
  void AddCost(std::string what, Cost cost, std::string note) {
    AddOurs(std::move(what), Text(cost), "per operation", std::move(note));
  }
#endif
  void Print() const { std::puts(nlohmann::json({{"figures", rows_}}).dump(1).c_str()); }

 private:
  void AddRow(std::string figure, nlohmann::json paper, nlohmann::json measured, std::string unit,
              nlohmann::json reproduced, std::string note) {
    rows_.push_back({{"scheme", scheme_},
                     {"figure", std::move(figure)},
                     {"paper", std::move(paper)},
                     {"measured", std::move(measured)},
                     {"unit", std::move(unit)},
                     {"reproduced", std::move(reproduced)},
                     {"note", std::move(note)}});
  }

  std::string scheme_;
  bool paper_size_;
  nlohmann::json rows_ = nlohmann::json::array();
};

// main() of a fidelity program; its one argument is --paper-size.
template <typename Measure>
int Run(int argc, char** argv, const char* scheme, Measure measure) {
  const bool paper_size = argc == 2 && std::string_view(argv[1]) == "--paper-size";
  if (argc > 1 && !paper_size) {
    std::fprintf(stderr, "usage: powercut-fidelity-%s [--paper-size]\n", scheme);
    return 2;
  }
  try {
    Figures figures(scheme, paper_size);
    measure(&figures);
    figures.Print();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "powercut-fidelity-%s: %s\n", scheme, error.what());
    return 3;
  }
}

}  // namespace powercut::fidelity

// In a program without the tracer's runtime the weak powercut_mark of pmem.h is this one.
#define POWERCUT_COUNT_MARKS \
  extern "C" void powercut_mark(const char* name) { ++powercut::fidelity::Marks()[name]; }

#endif  // POWERCUT_TARGETS_COMMON_BENCH_TABLE_H_

// powercut-fidelity-smartcuckoo: the figures of the SmartCuckoo paper that do not depend on a machine, as one JSON
// object {"figures": [...]} on stdout. Deterministic.
#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"
#include "targets/smartcuckoo/brute_force.h"
#include "targets/smartcuckoo/table.h"

namespace {

std::map<std::string_view, uint64_t> marks;

}  // namespace

// In a program without the tracer's runtime the weak powercut_mark of pmem.h is this one.
extern "C" void powercut_mark(const char* name) { ++marks[name]; }

namespace powercut::smartcuckoo {
namespace {

using Key = std::array<uint8_t, 16>;

// Random keys, as those of the RandomInteger trace; distinct for distinct i (splitmix64's finaliser is a bijection).
Key MakeKey(uint64_t i) {
  const auto spread = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  };
  const uint64_t words[2] = {spread(i + 1), spread(i + 0x9E3779B97F4A7C15)};
  Key key;
  std::memcpy(key.data(), words, sizeof words);
  return key;
}

class BenchTable {
 public:
  explicit BenchTable(uint8_t log2) {
    const Options options{.hardened = true,
                          .auto_expand = false,
                          .on_demand = false,
                          .bug = Bug::kNone,
                          .log2 = log2,
                          .key_size = 16,
                          .value_size = 32};
    pool_.size = uint64_t{64} << 20;
    void* at = mmap(nullptr, pool_.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("cannot map a pool; free some memory and run again");
    pool_.base = static_cast<uint8_t*>(at);
    if (Table::Format(pool_, options) != POWERCUT_OK || Table::Open(pool_, options, &table_) != POWERCUT_OK) {
      throw std::runtime_error("cannot format a table in a fresh pool");
    }
  }
  BenchTable(const BenchTable&) = delete;
  BenchTable& operator=(const BenchTable&) = delete;
  ~BenchTable() {
    delete table_;
    munmap(pool_.base, pool_.size);
  }
  Table& table() { return *table_; }
  uint32_t buckets() const { return table_->directory().buckets(); }

 private:
  powercut_pool pool_{};
  Table* table_ = nullptr;
};

nlohmann::json Row(std::string figure, nlohmann::json paper, nlohmann::json measured, std::string unit, bool reproduced,
                   std::string note) {
  return {{"scheme", "smartcuckoo"},         {"figure", std::move(figure)}, {"paper", std::move(paper)},
          {"measured", std::move(measured)}, {"unit", std::move(unit)},     {"reproduced", reproduced},
          {"note", std::move(note)}};
}

// Every insertion up to 0.9 load, foretold and tried.
void Predetermination(nlohmann::json* rows) {
  const uint8_t value[32] = {};
  uint64_t compared = 0, disagreements = 0, next_key = 0;
  for (int run = 0; run < 20; ++run) {
    BenchTable bench(8);
    for (uint64_t items = 0; items < bench.buckets() * 9 / 10;) {
      const Key key = MakeKey(next_key++);
      BruteForce brute(bench.buckets());
      for (uint32_t b = 0; b < bench.buckets(); ++b) {
        bench.table().Walk(b + 1, [&](const uint8_t* at, const uint8_t*) {
          brute.Hold(b, bench.table().directory().Of(at, key.size()));
          return false;
        });
      }
      const Positions at = bench.table().directory().Of(key.data(), key.size());
      const bool succeeds = !bench.table().Predetermine(key.data()).fails();
      ++compared;
      if (succeeds != brute.KickOutsSucceed(at) || succeeds != brute.PlacementExists(at)) ++disagreements;
      if (bench.table().Insert(key.data(), value) == POWERCUT_OK) ++items;
    }
  }
  rows->push_back(
      Row("3.2: insertions whose outcome is foretold wrongly, up to 0.9 load", 0, disagreements, "insertions",
          disagreements == 0,
          "of " + std::to_string(compared) +
              ", 20 tables of 512 buckets; compared with all kick-out paths and with a bipartite matching"));
}

// Fig. 1: the share of insertions that would walk into an endless loop, counted from an empty table.
void LoopRatio(nlohmann::json* rows) {
  BenchTable bench(17);
  marks.clear();
  uint64_t items = 0, tried = 0;
  const uint8_t value[32] = {};
  std::string shares;
  double at_90 = 0, last = 0;
  bool rising = true;
  for (int percent = 50; percent <= 90; percent += 10) {
    while (items < static_cast<uint64_t>(bench.buckets()) * static_cast<uint64_t>(percent) / 100) {
      if (bench.table().Insert(MakeKey(++tried).data(), value) == POWERCUT_OK) ++items;
    }
    at_90 = static_cast<double>(tried - items) / static_cast<double>(tried);
    rising = rising && at_90 >= last;
    last = at_90;
    char text[32];
    std::snprintf(text, sizeof text, "%s%.3f", shares.empty() ? "" : ", ", at_90);
    shares += text;
  }
  rows->push_back(Row("Fig. 1: share of insertions that walk into an endless loop at a load of 0.9", "> 0.25", at_90,
                      "of insertions", at_90 > 0.25 && at_90 < 0.30,
                      "random keys, 2^18 buckets; what fails is left out; reproduced: above 0.25 and below 0.30"));
  rows->push_back(Row("Fig. 1: the higher the load, the more loops", "rising", shares, "of insertions", rising,
                      "at loads from 0.5 in steps of 0.1"));
  const uint64_t foretold = marks["insert.v0.two_maximal"] + marks["insert.v0.one_maximal"];
  rows->push_back(Row("3.2: failing insertions that belong to v+0 with maximal subgraphs only", "all",
                      static_cast<double>(foretold) / static_cast<double>(tried - items), "of failing insertions",
                      foretold == tried - items, "v+1 and v+2 always succeed; reproduced: every one"));
}

}  // namespace
}  // namespace powercut::smartcuckoo

int main() {
  try {
    nlohmann::json rows = nlohmann::json::array();
    powercut::smartcuckoo::Predetermination(&rows);
    powercut::smartcuckoo::LoopRatio(&rows);
    std::puts(nlohmann::json({{"figures", rows}}).dump(1).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "powercut-fidelity-smartcuckoo: %s\n", error.what());
    return 3;
  }
}

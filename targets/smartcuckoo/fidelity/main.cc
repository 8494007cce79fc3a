// powercut-fidelity-smartcuckoo: the figures of the SmartCuckoo paper that do not depend on a machine, as one JSON
// object {"figures": [...]} on stdout. Deterministic.
#include <algorithm>
#include <array>

#include "targets/common/bench_table.h"
#include "targets/smartcuckoo/brute_force.h"
#include "targets/smartcuckoo/table.h"

POWERCUT_COUNT_MARKS

namespace powercut::smartcuckoo {
namespace {

using fidelity::Figures;
using fidelity::Spread;

using Key = std::array<uint8_t, 16>;

// Random keys, as those of the RandomInteger trace; distinct for distinct i.
Key MakeKey(uint64_t i) {
  const uint64_t words[2] = {Spread(i + 1), Spread(i + 0x9E3779B97F4A7C15)};
  Key key;
  std::memcpy(key.data(), words, sizeof words);
  return key;
}

class BenchTable : public fidelity::FreshTable<Table> {
 public:
  explicit BenchTable(uint8_t log2, uint8_t stash = 0)
      : FreshTable(Options{.hardened = true,
                           .auto_expand = false,
                           .on_demand = false,
                           .bug = Bug::kNone,
                           .log2 = log2,
                           .stash = stash,
                           .key_size = 16,
                           .value_size = 32},
                   uint64_t{64} << 20) {}
  uint32_t buckets() const { return table().directory().buckets(); }
};

// Every insertion up to 0.9 load, foretold and tried.
void Predetermination(Figures* figures) {
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
  figures->Add("3.2: insertions whose outcome is foretold wrongly, up to 0.9 load", 0, disagreements, "insertions",
               disagreements == 0,
               "of " + std::to_string(compared) +
                   ", 20 tables of 512 buckets; compared with all kick-out paths and with a bipartite matching");
}

// Section 4 calls all space beyond the keys and values an overhead.
void Space(Figures* figures, const BenchTable& bench, uint64_t items) {
  constexpr double kItem = 16 + 32;
  const auto buckets = static_cast<double>(bench.buckets());
  const double forest = static_cast<double>(bench.table().forest().CountBytes());
  const double stored = static_cast<double>(items) * kItem;
  const double table = buckets * bench.table().geometry().stride;
  const double overhead = (table + forest) / stored - 1;
  figures->Add("4, YCSB: space beyond the keys and values, at a load of 0.9", "about 0.20", overhead,
               "of keys and values", overhead > 0.15 && overhead < 0.25,
               "the buckets take " + fidelity::Join({table / stored - 1}) + " more than their items, and the forest " +
                   fidelity::Join({forest / buckets}) +
                   " bytes a bucket: the ring, the backups, room for IDs. The paper does not say at what load, and no "
                   "load makes it 0.20 here; ours: within 0.05");
  // "about 20% of the minimal requirement", were all buckets full and the forest the only overhead.
  constexpr double kMostForest = 0.20 * kItem;
  figures->Add("4, YCSB: volatile state of the pseudoforest for each bucket", "<= 9.6", forest / buckets, "bytes",
               forest / buckets <= kMostForest,
               "20 % of an item of 16 and 32 bytes. The forest alone is more than that: the authors' public code keeps "
               "16 bytes a bucket (code reading), a third of an item, and has no deletion");
}

// "SmartCuckoo is implemented based on CHS" (4): what its stash adds to the load at which an insertion finds no place.
void Stash(Figures* figures) {
  constexpr int kTables = 20;
  const uint8_t value[32] = {};
  std::vector<double> loads;
  for (const uint8_t stash : {0, 4}) {
    uint64_t items = 0, places = 0, next_key = 0;
    for (int i = 0; i < kTables; ++i) {
      BenchTable bench(12, stash);
      while (bench.table().Insert(MakeKey(next_key++).data(), value) == POWERCUT_OK) ++items;
      places += bench.buckets() + stash;
    }
    loads.push_back(static_cast<double>(items) / static_cast<double>(places));
  }
  figures->AddOurs("load at which an insertion finds no place, without a stash and with one of 4",
                   fidelity::Join(loads), "items/places",
                   "random keys, mean of 20 tables of 2^13 buckets; the paper gives no size of its stash");
}

// Fig. 1: the share of insertions that would walk into an endless loop, counted from an empty table.
void LoopRatio(Figures* figures) {
  BenchTable bench(17);
  fidelity::Marks().clear();
  uint64_t items = 0, tried = 0;
  const uint8_t value[32] = {};
  std::vector<double> shares;
  for (int percent = 50; percent <= 90; percent += 10) {
    while (items < static_cast<uint64_t>(bench.buckets()) * static_cast<uint64_t>(percent) / 100) {
      if (bench.table().Insert(MakeKey(++tried).data(), value) == POWERCUT_OK) ++items;
    }
    shares.push_back(static_cast<double>(tried - items) / static_cast<double>(tried));
  }
  const double at_90 = shares.back();
  figures->Add("Fig. 1: share of insertions that walk into an endless loop at a load of 0.9", "> 0.25", at_90,
               "of insertions", at_90 > 0.25,
               "random keys, 2^18 buckets; what fails is left out; reproduced: above 0.25");
  figures->Add("Fig. 1: the higher the load, the more loops", "rising", fidelity::Join(shares), "of insertions",
               std::is_sorted(shares.begin(), shares.end()), "at loads from 0.5 in steps of 0.1");
  const uint64_t foretold = fidelity::Marks()["insert.v0.two_maximal"] + fidelity::Marks()["insert.v0.one_maximal"];
  figures->Add("3.2: failing insertions that belong to v+0 with maximal subgraphs only", "all",
               static_cast<double>(foretold) / static_cast<double>(tried - items), "of failing insertions",
               foretold == tried - items, "v+1 and v+2 always succeed; reproduced: every one");
  Space(figures, bench, items);
}

}  // namespace
}  // namespace powercut::smartcuckoo

int main(int argc, char** argv) {
  return powercut::fidelity::Run(argc, argv, "smartcuckoo", [](powercut::fidelity::Figures* figures) {
    powercut::smartcuckoo::Predetermination(figures);
    powercut::smartcuckoo::LoopRatio(figures);
    powercut::smartcuckoo::Stash(figures);
  });
}

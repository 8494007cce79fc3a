// The claim of the paper: whether an insertion fails is known before any kick-out. The test checks the claim on every
// insertion of random runs against two ways that do not use the forest (brute_force.h). After each step the test
// compares the forest with the table.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <random>
#include <string>

#include "targets/common/test_table.h"
#include "targets/smartcuckoo/brute_force.h"
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {
namespace {

using test::TestTable;

struct Run {
  Run(std::string variant, std::string buckets, std::string forest)
      : table(powercut_target_entry(POWERCUT_TARGET_ABI), std::move(variant),
              {{"buckets", std::move(buckets)}, {"forest", std::move(forest)}, {"auto_expand", "off"}}, 8, 8,
              64 << 10) {}

  Table& inner() { return *reinterpret_cast<Table*>(table.handle()); }
  const uint8_t* Bytes(const std::string& key) const { return reinterpret_cast<const uint8_t*>(key.data()); }
  std::string PoolBytes() const { return {reinterpret_cast<const char*>(table.pool().base), table.pool().size}; }

  BruteForce Observe() {
    const Directory directory = inner().directory();
    BruteForce brute(directory.buckets());
    for (uint32_t b = 0; b < directory.buckets(); ++b) {
      inner().Walk(b + 1, [&](const uint8_t* key, const uint8_t*) {
        brute.Hold(b, directory.Of(key, 8));
        return false;
      });
    }
    return brute;
  }

  // Inserts and compares what was foretold, what would have happened and what did.
  void Insert(uint64_t id) {
    const std::string key = table.Key(id);
    BruteForce brute = Observe();
    const Positions at = inner().directory().Of(Bytes(key), 8);
    const bool fails = inner().Predetermine(Bytes(key)).fails();
    RC_ASSERT(fails == !brute.KickOutsSucceed(at));
    RC_ASSERT(fails == !brute.PlacementExists(at));
    const std::string before = fails ? PoolBytes() : "";
    const powercut_status status = table.Insert(id, id);
    RC_ASSERT(status == (fails ? POWERCUT_FULL : POWERCUT_OK));
    if (fails) {
      RC_ASSERT(PoolBytes() == before);  // no kick-out
      ++failures;
    } else {
      live.emplace(id, id);
    }
  }

  TestTable table;
  std::map<uint64_t, uint64_t> live;
  int failures = 0;
};

template <typename Random>
std::string OneOf(std::initializer_list<const char*> values, Random* random) {
  return values.begin()[(*random)() % values.size()];
}

// Until the table is full of items: every insertion after the first failures still has to be foretold.
int FillUp(uint64_t seed) {
  std::mt19937_64 random(seed);
  Run run(OneOf({"published", "hardened"}, &random), OneOf({"2", "4", "16", "128"}, &random),
          OneOf({"scan", "on_demand"}, &random));
  RC_ASSERT(run.table.Format() == POWERCUT_OK);
  RC_ASSERT(run.table.Open() == POWERCUT_OK);
  const uint32_t buckets = run.inner().directory().buckets();
  for (uint64_t id = 1 + (random() % 1000) * 1000; run.live.size() < buckets * 9 / 10; ++id) {
    run.Insert(id);
    RC_ASSERT(run.table.Damage() == "");
    if (random() % 64 == 0) RC_ASSERT(run.table.Cut() == POWERCUT_OK);
  }
  return run.failures;
}

// Erasing separates subgraphs; IDs run out and are numbered anew.
void InsertAndErase(uint64_t seed) {
  std::mt19937_64 random(seed);
  Run run(OneOf({"published", "hardened"}, &random), OneOf({"2", "4", "16"}, &random),
          OneOf({"scan", "on_demand"}, &random));
  RC_ASSERT(run.table.Format() == POWERCUT_OK);
  RC_ASSERT(run.table.Open() == POWERCUT_OK);
  for (uint64_t step = 1; step <= 400; ++step) {
    if (random() % 5 < 3 || run.live.empty()) {
      run.Insert(seed % 1000 * 1000 + step);
    } else {
      auto victim = run.live.begin();
      std::advance(victim, random() % run.live.size());
      RC_ASSERT(run.table.Erase(victim->first) == POWERCUT_OK);
      run.live.erase(victim);
    }
    RC_ASSERT(run.table.Damage() == "");
    if (random() % 100 == 0) RC_ASSERT(run.table.Cut() == POWERCUT_OK);
  }
  for (const auto& [key, value] : run.live) RC_ASSERT(run.table.Lookup(key) == run.table.Value(value));
  RC_ASSERT(run.table.Contents().size() == run.live.size());
}

TEST(Predetermination, AgreesWithBruteForceUpToNineTenths) {
  int failures = 0;
  EXPECT_TRUE(rc::check("every insertion", [&failures](uint64_t seed) { failures += FillUp(seed); }));
  EXPECT_GT(failures, 1000);
}

TEST(Predetermination, AgreesWithBruteForceAmongErases) {
  EXPECT_TRUE(rc::check("every insertion", [](uint64_t seed) { InsertAndErase(seed); }));
}

}  // namespace
}  // namespace powercut::smartcuckoo

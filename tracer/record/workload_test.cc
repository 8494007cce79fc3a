#include "tracer/record/workload.h"

#include <gtest/gtest.h>

#include <map>

#include "tracer/record/key_bytes.h"

namespace powercut {
namespace {

Scenario scenario_of(std::vector<Step> steps) {
  Scenario scenario;
  scenario.name = "test";
  scenario.pool_size = 4096;
  scenario.data = {{16, 16}, {16, 16}};
  Phase phase;
  phase.name = "work";
  phase.steps = std::move(steps);
  scenario.phases.push_back(phase);
  return scenario;
}

Step mix_step(Distribution distribution, uint64_t operations) {
  Step step;
  step.kind = StepKind::kMix;
  step.mix.operations = operations;
  step.mix.distribution = distribution;
  return step;
}

Step insert_step(uint64_t to) {
  Step step;
  step.kind = StepKind::kInsert;
  step.from = 1;
  step.to = to;
  return step;
}

// Runs a workload against a table that does what it is asked.
std::vector<Operation> run(Workload& workload) {
  std::vector<Operation> operations;
  while (true) {
    Result<Workload::Item> item = workload.next();
    EXPECT_TRUE(item.ok()) << item.error().message();
    if (!item.ok() || (item->phase == nullptr && !item->operation)) return operations;
    if (!item->operation) continue;
    operations.push_back(*item->operation);
    EXPECT_FALSE(workload.completed(POWERCUT_OK).has_value());
  }
}

TEST(Workload, ManyOperationsNeedNoList) {
  Step mix = mix_step(Distribution::kZipfian, 200000);
  mix.mix.read = 0.45, mix.mix.update = 0.25, mix.mix.insert = 0.1, mix.mix.erase = 0.1, mix.mix.rmw = 0.1;
  Scenario scenario = scenario_of({insert_step(1000), mix});
  Workload workload(scenario, 7, false);
  std::map<OpKind, int> counts;
  uint64_t last_serial = 0;
  for (const Operation& operation : run(workload)) {
    ++counts[operation.kind];
    if (operation.serial != 0) {
      EXPECT_EQ(operation.serial, ++last_serial) << "every write has a value of its own";
    }
  }
  EXPECT_NEAR(counts[OpKind::kLookup], 110000, 2000);  // reads and the first half of each rmw
  EXPECT_NEAR(counts[OpKind::kUpdate], 70000, 2000);
  EXPECT_NEAR(counts[OpKind::kErase], 20000, 1000);
  EXPECT_EQ(workload.live().size(), 0u + counts[OpKind::kInsert] - counts[OpKind::kErase]);
}

TEST(Workload, TheSeedDrivesTheMixAlone) {
  Step mix = mix_step(Distribution::kUniform, 50);
  mix.mix.update = 1;
  Scenario scenario = scenario_of({insert_step(20), mix});
  auto keys = [&](uint64_t seed) {
    Workload workload(scenario, seed, false);
    std::vector<uint64_t> keys;
    for (const Operation& operation : run(workload)) keys.push_back(operation.key);
    return keys;
  };
  std::vector<uint64_t> one = keys(1), two = keys(2);
  EXPECT_EQ(one, keys(1));
  EXPECT_NE(one, two);
  EXPECT_TRUE(std::equal(one.begin(), one.begin() + 20, two.begin())) << "inserts do not depend on the seed";
}

TEST(Workload, FreshKeysFollowTheLargestUsed) {
  Step given;
  given.kind = StepKind::kInsert;
  given.keys = {5, 40, 7};
  Step fill;
  fill.kind = StepKind::kFill;
  fill.limit = 2;
  Scenario scenario = scenario_of({given, fill});
  Workload workload(scenario, 1, false);
  std::vector<uint64_t> keys;
  for (const Operation& operation : run(workload)) keys.push_back(operation.key);
  EXPECT_EQ(keys, (std::vector<uint64_t>{5, 40, 7, 41, 42}));
}

TEST(Workload, FreshKeysDoNotContinueAfterZerosAndOnes) {
  Step given;
  given.kind = StepKind::kInsert;
  given.keys = {kZerosKey, 5, kOnesKey};
  Step updated = given;
  updated.kind = StepKind::kUpdate;
  Step fill;
  fill.kind = StepKind::kFill;
  fill.limit = 2;
  Scenario scenario = scenario_of({given, updated, fill});
  Workload workload(scenario, 1, false);
  std::vector<std::string> said;
  for (const Operation& operation : run(workload)) said.push_back(describe(operation));
  EXPECT_EQ(said, (std::vector<std::string>{"insert of key zeros", "insert of key 5", "insert of key ones",
                                            "update of key zeros", "update of key 5", "update of key ones",
                                            "insert of key 6", "insert of key 7"}));
}

TEST(Workload, FreshKeysEndBeforeZerosAndOnes) {
  Step given;
  given.kind = StepKind::kInsert;
  given.keys = {kMaxNumberedKey - 1};
  Step fill;
  fill.kind = StepKind::kFill;
  fill.limit = 2;
  Scenario scenario = scenario_of({given, fill});
  Workload workload(scenario, 1, false);
  ASSERT_TRUE(workload.next().ok());  // the phase
  for (uint64_t key : {kMaxNumberedKey - 1, kMaxNumberedKey}) {
    ASSERT_EQ(workload.next()->operation->key, key);
    EXPECT_FALSE(workload.completed(POWERCUT_OK).has_value());
  }
  EXPECT_FALSE(workload.next().ok());
}

TEST(LiveKeys, ZipfianMatchesItsLaw) {
  // Frequencies of the first ranks against 1 / (rank^theta * zeta(n)).
  const double theta = 0.99;
  const uint64_t n = 1000;
  double zeta = 0;
  for (uint64_t i = 1; i <= n; ++i) zeta += 1 / std::pow(i, theta);
  Zipfian zipfian(theta);
  Random random(3);
  const int draws = 200000;
  std::vector<int> counts(n);
  for (int i = 0; i < draws; ++i) ++counts[zipfian.draw(n, random)];
  EXPECT_NEAR(counts[0] / double{draws}, 1 / zeta, 0.005);
  EXPECT_NEAR(counts[1] / double{draws}, 1 / std::pow(2, theta) / zeta, 0.005);
  double top = 0, expected = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    top += counts[i] / double{draws};
    expected += 1 / std::pow(i + 1, theta) / zeta;
  }
  // Gray's formula is an approximation beyond the second rank.
  EXPECT_NEAR(top, expected, 0.02);
}

TEST(LiveKeys, ZipfianGrowsAndShrinks) {
  Random one(5), two(5);
  Zipfian fresh(0.9), moved(0.9);
  moved.draw(5000, two);
  two = Random(5);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(fresh.draw(50, one), moved.draw(50, two));
  for (uint64_t n : {1, 2, 3}) {
    for (int i = 0; i < 100; ++i) EXPECT_LT(fresh.draw(n, one), n);
  }
}

TEST(LiveKeys, DrawsOnlyWhatIsLive) {
  LiveKeys keys;
  Random random(11);
  for (uint64_t key = 1; key <= 300; ++key) keys.insert(key);
  for (uint64_t key = 1; key <= 300; key += 3) keys.erase(key);
  for (uint64_t key = 150; key <= 290; ++key) keys.erase(key);
  for (Distribution distribution : {Distribution::kUniform, Distribution::kZipfian, Distribution::kLatest}) {
    for (int i = 0; i < 2000; ++i) EXPECT_TRUE(keys.contains(keys.draw(distribution, 0.99, random)));
  }
}

TEST(LiveKeys, LatestPrefersTheNewest) {
  LiveKeys keys;
  Random random(1);
  for (uint64_t key = 1; key <= 1000; ++key) keys.insert(key);
  int newest = 0;
  for (int i = 0; i < 1000; ++i) newest += keys.draw(Distribution::kLatest, 0.99, random) > 900;
  EXPECT_GT(newest, 500);
}

TEST(Workload, InterruptedStepIsOver) {
  Scenario scenario = scenario_of({insert_step(5), insert_step(5)});
  scenario.phases[0].steps[1].from = 3;
  Workload workload(scenario, 1, false);
  ASSERT_TRUE(workload.next().ok());  // the phase
  ASSERT_EQ(workload.next()->operation->key, 1u);
  EXPECT_FALSE(workload.completed(POWERCUT_OK).has_value());
  ASSERT_EQ(workload.next()->operation->key, 2u);
  workload.interrupted(false);
  EXPECT_FALSE(workload.live().contains(2));
  EXPECT_EQ(workload.next()->operation->key, 3u);
}

}  // namespace
}  // namespace powercut

// Real threads on one small table, `hardened`: every answer must have an order that explains it. Schedules and power
// cuts at the same time are powercut's job.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "targets/common/test_table.h"

namespace powercut::level {
namespace {

using test::TestTable;

constexpr int kThreads = 4;

// All threads begin at the same time.
void InThreads(const std::function<void(int)>& work) {
  std::atomic<int> waiting = kThreads;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      --waiting;
      while (waiting != 0) std::this_thread::yield();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Of layout and whether updates may do without a log.
class LevelThreadsTest : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    ASSERT_EQ(table.Format(), POWERCUT_OK) << table.error();
    ASSERT_EQ(table.Open(), POWERCUT_OK);
  }
  // The table as it is, and as the next open finds it.
  void CheckTwice(const std::function<void()>& check) {
    check();
    ASSERT_EQ(table.Damage(), "");
    table.Close();
    ASSERT_EQ(table.Open(), POWERCUT_OK);
    check();
    ASSERT_EQ(table.Damage(), "");
  }
  static bool wide() { return std::string(std::get<0>(GetParam())) == "16x15"; }

  TestTable table{powercut_target_entry(POWERCUT_TARGET_ABI),
                  "hardened",
                  {{"concurrency", "concurrent"},
                   {"top", "2"},
                   {"layout", std::get<0>(GetParam())},
                   {"opportunistic", std::get<1>(GetParam())}},
                  wide() ? 16u : 8u,
                  wide() ? 15u : 8u,
                  1 << 20};
};

TEST_P(LevelThreadsTest, OneOfManyInsertsOfAKeySucceeds) {
  for (uint64_t key = 1; key <= 150; ++key) {
    std::array<powercut_status, kThreads> status;
    InThreads([&](int i) { status[i] = table.Insert(key, 10 * key + i); });
    int winner = -1;
    for (int i = 0; i < kThreads; ++i) {
      if (status[i] == POWERCUT_EXISTS) continue;
      ASSERT_EQ(status[i], POWERCUT_OK);
      ASSERT_EQ(winner, -1) << "key " << key;
      winner = i;
    }
    ASSERT_NE(winner, -1);
    ASSERT_EQ(table.Copies(key), std::vector{table.Value(10 * key + winner)});
  }
  CheckTwice([&] { ASSERT_EQ(table.Contents().size(), 150u); });
}

// The threads share buckets, headers, the undo log and resizes, but no key.
TEST_P(LevelThreadsTest, AThreadSeesItsOwnKeysAsIfItWereAlone) {
  std::array<std::map<uint64_t, uint64_t>, kThreads> models;
  std::array<std::string, kThreads> wrong;
  InThreads([&](int i) {
    std::mt19937_64 random(i);
    std::map<uint64_t, uint64_t>& model = models[i];
    for (uint64_t serial = 1; serial <= 3000 && wrong[i].empty(); ++serial) {
      const uint64_t key = 1 + i + kThreads * (random() % 12), value = serial * kThreads + i;
      const bool present = model.count(key) != 0;
      powercut_status status = POWERCUT_OK, expected = present ? POWERCUT_OK : POWERCUT_NOT_FOUND;
      const uint64_t dice = random() % 100;
      if (dice < 40) {
        status = table.Insert(key, value);
        expected = present ? POWERCUT_EXISTS : POWERCUT_OK;
        if (!present) model[key] = value;
      } else if (dice < 70) {
        status = table.Update(key, value);
        if (present) model[key] = value;
      } else if (dice < 98) {
        status = table.Erase(key);
        model.erase(key);
      } else {
        status = table.Maintain(dice == 98 ? "expand" : "shrink");
        expected = status == POWERCUT_FULL ? POWERCUT_FULL : POWERCUT_OK;
      }
      const auto found = model.find(key);
      const std::string now = found == model.end() ? "" : table.Value(found->second);
      if (status != expected || table.Lookup(key) != now) wrong[i] = "operation " + std::to_string(serial);
    }
  });
  for (const std::string& message : wrong) ASSERT_EQ(message, "");
  std::multimap<std::string, std::string> expected;
  for (const auto& model : models) {
    for (const auto& [key, value] : model) expected.emplace(table.Key(key), table.Value(value));
  }
  CheckTwice([&] { ASSERT_EQ(table.Contents(), expected); });
}

// The threads share all keys. A key is there at the end if it was inserted once more than it was erased.
TEST_P(LevelThreadsTest, InsertsAndErasesOfSharedKeysAlternate) {
  constexpr uint64_t kKeys = 5, kNeighbours = 12;  // the neighbours fill the buckets
  constexpr uint64_t kSerials = 1 << 20;           // a value's id is key * kSerials + serial
  for (uint64_t key = 0; key < kNeighbours; ++key) ASSERT_EQ(table.Insert(100 + key, 1), POWERCUT_OK);
  std::array<std::array<int, kKeys>, kThreads> balance{};
  std::array<std::string, kThreads> wrong;
  std::map<std::string, uint64_t> key_of;  // of every value
  for (uint64_t key = 0; key < kKeys; ++key) {
    for (uint64_t serial = 0; serial < 2500 * kThreads; ++serial) key_of[table.Value(key * kSerials + serial)] = key;
  }
  InThreads([&](int i) {
    std::mt19937_64 random(100 + i);
    for (uint64_t n = 0; n < 2500 && wrong[i].empty(); ++n) {
      const uint64_t key = random() % kKeys, value = key * kSerials + n * kThreads + i;
      powercut_status status = POWERCUT_OK;
      switch (random() % 4) {
        case 0:
          status = table.Insert(1 + key, value);
          if (status == POWERCUT_OK) ++balance[i][key];
          if (status != POWERCUT_OK && status != POWERCUT_EXISTS) wrong[i] = "insert";
          break;
        case 1:
          status = table.Update(1 + key, value);
          if (status != POWERCUT_OK && status != POWERCUT_NOT_FOUND) wrong[i] = "update";
          break;
        case 2:
          status = table.Erase(1 + key);
          if (status == POWERCUT_OK) --balance[i][key];
          if (status != POWERCUT_OK && status != POWERCUT_NOT_FOUND) wrong[i] = "erase";
          break;
        default: {
          const std::string found = table.Lookup(1 + key);
          const auto known = key_of.find(found);
          if (!found.empty() && (known == key_of.end() || known->second != key)) wrong[i] = "lookup";
          const uint64_t neighbour = 100 + random() % kNeighbours;  // never written: only moved
          if (table.Lookup(neighbour) != table.Value(1)) wrong[i] = "lookup of a neighbour";
        }
      }
    }
  });
  for (const std::string& message : wrong) ASSERT_EQ(message, "");
  CheckTwice([&] {
    for (uint64_t key = 0; key < kKeys; ++key) {
      int sum = 0;
      for (const auto& of_thread : balance) sum += of_thread[key];
      ASSERT_TRUE(sum == 0 || sum == 1) << "key " << key << ": " << sum;
      const std::vector<std::string> copies = table.Copies(1 + key);
      ASSERT_EQ(copies.size(), static_cast<size_t>(sum)) << "key " << key;
      if (sum == 1) ASSERT_EQ(key_of.at(copies[0]), key);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, LevelThreadsTest,
                         testing::Combine(testing::Values("16x15", "8x8"), testing::Values("on", "off")));

TEST(LevelThreadsTraits, SayWhatEachVariantPromises) {
  const powercut_target* target = powercut_target_entry(POWERCUT_TARGET_ABI);
  const powercut_option concurrent = {"concurrency", "concurrent"};
  const auto traits_of = [&](const char* variant, bool threads) {
    const powercut_config config = {variant, &concurrent, threads ? 1u : 0u, 16, 15, nullptr, 0};
    powercut_traits traits;
    EXPECT_EQ(target->traits(&config, &traits), POWERCUT_OK);
    return traits;
  };
  EXPECT_EQ(traits_of("hardened", false).thread_safe, 0u);
  EXPECT_EQ(traits_of("hardened", false).checks_exists, 0u);
  EXPECT_EQ(traits_of("hardened", true).thread_safe, 1u);
  EXPECT_EQ(traits_of("hardened", true).checks_exists, 1u);
  EXPECT_EQ(traits_of("published", true).thread_safe, 1u);
  EXPECT_EQ(traits_of("published", true).checks_exists, 0u);  // the paper inserts unique keys
}

}  // namespace
}  // namespace powercut::level

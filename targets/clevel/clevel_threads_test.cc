// Real threads on one small table, `hardened`: every answer must have an order that explains it. Rehashing threads work
// beside the clients. Schedules and power cuts at the same time are powercut's job.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "targets/clevel/layout.h"
#include "targets/common/test_table.h"

namespace powercut::clevel {
namespace {

using test::TestTable;

constexpr int kCallers = kClients;

// Of rehashing threads, and of blocks that a thread holds back.
class ClevelThreadsTest : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    ASSERT_EQ(table.Format(), POWERCUT_OK) << table.error();
    ASSERT_EQ(table.Open(), POWERCUT_OK);
  }

  // All clients begin at the same time.
  void InThreads(const std::function<void(int)>& work) {
    std::atomic<int> waiting = kCallers;
    std::atomic<bool> is_over = false;
    std::vector<std::thread> clients, rehashers;
    const powercut_background* background = powercut_target_background();
    for (uint32_t number = 0; number < background->threads(table.handle()); ++number) {
      rehashers.emplace_back([&, number] {
        while (!is_over) {
          const powercut_status status = background->work(table.handle(), number);
          ASSERT_TRUE(status == POWERCUT_OK || status == POWERCUT_NOT_FOUND);
          if (status == POWERCUT_NOT_FOUND) std::this_thread::yield();
        }
      });
    }
    for (int i = 0; i < kCallers; ++i) {
      clients.emplace_back([&, i] {
        --waiting;
        while (waiting != 0) std::this_thread::yield();
        work(i);
      });
    }
    for (std::thread& thread : clients) thread.join();
    is_over = true;
    for (std::thread& thread : rehashers) thread.join();
  }
  // The table as it is, and as the next open finds it.
  void CheckTwice(const std::function<void()>& check) {
    for (int opening = 0; opening < 2; ++opening) {
      check();
      ASSERT_EQ(table.Damage(), "");
      ASSERT_EQ(table.Cut(), POWERCUT_OK);
    }
  }

  TestTable table{powercut_target_entry(POWERCUT_TARGET_ABI),
                  "hardened",
                  {{"concurrency", "concurrent"},
                   {"first", "2"},
                   {"slots", "4"},
                   {"rehash_threads", std::get<0>(GetParam())},
                   {"reclaim", std::get<1>(GetParam())}},
                  8,
                  16,
                  16 << 20};
};

TEST_P(ClevelThreadsTest, OneOfManyInsertsOfAKeySucceeds) {
  constexpr uint64_t kKeys = 1500;
  std::array<std::array<powercut_status, kKeys + 1>, kCallers> status{};
  InThreads([&](int i) {
    for (uint64_t key = 1; key <= kKeys; ++key) status[i][key] = table.Insert(key, 10 * key + i);
  });
  std::multimap<std::string, std::string> expected;
  for (uint64_t key = 1; key <= kKeys; ++key) {
    int winner = -1;
    for (int i = 0; i < kCallers; ++i) {
      if (status[i][key] == POWERCUT_EXISTS) continue;
      ASSERT_EQ(status[i][key], POWERCUT_OK);
      ASSERT_EQ(winner, -1) << "key " << key;
      winner = i;
    }
    ASSERT_NE(winner, -1);
    expected.emplace(table.Key(key), table.Value(10 * key + winner));
  }
  CheckTwice([&] { ASSERT_EQ(table.Contents(), expected); });
}

// The threads share buckets, contexts and resizes, but no key.
TEST_P(ClevelThreadsTest, AThreadSeesItsOwnKeysAsIfItWereAlone) {
  std::array<std::map<uint64_t, uint64_t>, kCallers> models;
  std::array<std::string, kCallers> wrong;
  InThreads([&](int i) {
    std::mt19937_64 random(i);
    std::map<uint64_t, uint64_t>& model = models[i];
    for (uint64_t serial = 1; serial <= 6000 && wrong[i].empty(); ++serial) {
      const uint64_t key = 1 + i + kCallers * (random() % 12), value = serial * kCallers + i;
      const bool present = model.count(key) != 0;
      powercut_status status = POWERCUT_OK, expected = present ? POWERCUT_OK : POWERCUT_NOT_FOUND;
      const uint64_t dice = random() % 100;
      if (serial % 2500 == 0) {  // each one doubles the table
        status = table.Maintain("expand");
        expected = POWERCUT_OK;
      } else if (dice < 40) {
        status = table.Insert(key, value);
        expected = present ? POWERCUT_EXISTS : POWERCUT_OK;
        if (!present) model[key] = value;
      } else if (dice < 65) {
        status = table.Update(key, value);
        if (present) model[key] = value;
      } else if (dice < 95) {
        status = table.Erase(key);
        model.erase(key);
      } else {
        status = table.Maintain("rehash");
        expected = POWERCUT_OK;
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
TEST_P(ClevelThreadsTest, InsertsAndErasesOfSharedKeysAlternate) {
  constexpr uint64_t kKeys = 5, kNeighbours = 12, kRounds = 5000;
  constexpr uint64_t kSerials = 1 << 20;  // a value's id is key * kSerials + serial
  for (uint64_t key = 0; key < kNeighbours; ++key) ASSERT_EQ(table.Insert(100 + key, 1), POWERCUT_OK);
  std::array<std::array<int, kKeys>, kCallers> balance{};
  std::array<std::string, kCallers> wrong;
  std::map<std::string, uint64_t> key_of;  // of every value
  for (uint64_t key = 0; key < kKeys; ++key) {
    for (uint64_t serial = 0; serial < kRounds * kCallers; ++serial) {
      key_of[table.Value(key * kSerials + serial)] = key;
    }
  }
  InThreads([&](int i) {
    std::mt19937_64 random(100 + i);
    for (uint64_t n = 0; n < kRounds && wrong[i].empty(); ++n) {
      const uint64_t key = random() % kKeys, value = key * kSerials + n * kCallers + i;
      powercut_status status = POWERCUT_OK;
      if (n % 2500 == 2499 && table.Maintain("expand") != POWERCUT_OK) wrong[i] = "expand";
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

INSTANTIATE_TEST_SUITE_P(Shapes, ClevelThreadsTest,
                         testing::Combine(testing::Values("1", "3"), testing::Values("1", "8")));

TEST(ClevelThreadsTraits, SayWhatEachVariantPromises) {
  const powercut_target* target = powercut_target_entry(POWERCUT_TARGET_ABI);
  const powercut_option concurrent = {"concurrency", "concurrent"};
  for (const char* variant : {"published", "hardened"}) {
    for (const bool threads : {false, true}) {
      const powercut_config config = {variant, &concurrent, threads ? 1u : 0u, 8, 8, nullptr, 0};
      powercut_traits traits;
      ASSERT_EQ(target->traits(&config, &traits), POWERCUT_OK);
      EXPECT_EQ(traits.thread_safe, threads ? 1u : 0u);
      EXPECT_EQ(traits.checks_exists, 1u);
      EXPECT_EQ(traits.copy_bound, 2u);
    }
  }
}

}  // namespace
}  // namespace powercut::clevel

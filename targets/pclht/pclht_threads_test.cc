// `hardened` under real threads: some order of the operations must explain all answers and the final contents. Few
// rounds: the engine explores all schedules, and this test only samples schedules, but on the shipped build.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <thread>

#include "targets/common/test_table.h"

namespace powercut::pclht {
namespace {

using test::TestTable;

struct Kind {
  const char* items;
  uint32_t bytes;  // of a key and of a value
};

TestTable Make(TestTable::Settings settings, Kind kind = {"words", 8}, uint64_t pool_size = 256 << 10) {
  settings.emplace_back("concurrency", "concurrent");
  settings.emplace_back("items", kind.items);
  return {
      powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", std::move(settings), kind.bytes, kind.bytes, pool_size};
}

class PclhtThreadsTest : public testing::TestWithParam<Kind> {};

void RunTogether(const std::vector<std::function<void()>>& bodies) {
  std::barrier start(static_cast<std::ptrdiff_t>(bodies.size()));
  std::vector<std::thread> threads;
  for (const auto& body : bodies) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      body();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(PclhtThreadsTest, OfTwoInsertsOfAKeyOneSucceeds) {
  constexpr uint64_t kKeys = 200;
  TestTable table = Make({{"buckets", "2"}}, GetParam());
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  powercut_status answers[2][kKeys];
  const auto insert_all = [&](uint64_t who) {
    for (uint64_t key = 0; key < kKeys; ++key) answers[who][key] = table.Insert(key, 1000 * who + key);
  };
  RunTogether({[&] { insert_all(0); }, [&] { insert_all(1); }});
  ASSERT_EQ(table.Cut(), POWERCUT_OK);
  for (uint64_t key = 0; key < kKeys; ++key) {
    const uint64_t winner = answers[0][key] == POWERCUT_OK ? 0 : 1;
    EXPECT_EQ(answers[winner][key], POWERCUT_OK) << key;
    EXPECT_EQ(answers[1 - winner][key], POWERCUT_EXISTS) << key;
    EXPECT_EQ(table.Copies(key), std::vector<std::string>{table.Value(1000 * winner + key)}) << key;
  }
  EXPECT_EQ(table.Damage(), "");
}

TEST_P(PclhtThreadsTest, SearchesSeeUpdatesInTheirOrder) {
  constexpr uint64_t kUpdates = 2000;
  TestTable table = Make({{"buckets", "1"}}, GetParam());
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  ASSERT_EQ(table.Insert(1, 0), POWERCUT_OK);
  std::map<std::string, uint64_t> serials;
  for (uint64_t i = 0; i <= kUpdates; ++i) serials[table.Value(i)] = i;
  std::atomic<uint64_t> foreign = 0, backwards = 0;
  const auto read = [&] {
    for (uint64_t last = 0; last < kUpdates;) {
      const auto seen = serials.find(table.Lookup(1));
      if (seen == serials.end()) {
        ++foreign;
        return;
      }
      if (seen->second < last) ++backwards;
      last = seen->second;
    }
  };
  RunTogether({[&] {
                 for (uint64_t i = 1; i <= kUpdates; ++i) EXPECT_EQ(table.Update(1, i), POWERCUT_OK);
               },
               read});
  EXPECT_EQ(foreign, 0u);
  EXPECT_EQ(backwards, 0u);
}

// Three keys take turns in the same entries.
TEST_P(PclhtThreadsTest, AnEntryThatIsUsedAgainGivesNoForeignValue) {
  constexpr uint64_t kRounds = 1000, kKeys = 3;
  TestTable table = Make({{"buckets", "1"}}, GetParam());
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  std::atomic<bool> done = false;
  std::atomic<uint64_t> foreign = 0;
  const auto value_of = [](uint64_t key, uint64_t round) { return 1'000'000 * key + round; };
  std::map<std::string, uint64_t> key_of;
  for (uint64_t key = 1; key <= kKeys; ++key) {
    for (uint64_t round = 0; round < 2 * kRounds; ++round) key_of[table.Value(value_of(key, round))] = key;
  }
  RunTogether({[&] {
                 for (uint64_t round = 0; round < kRounds; ++round) {
                   const uint64_t key = 1 + round % kKeys;
                   EXPECT_EQ(table.Insert(key, value_of(key, round)), POWERCUT_OK);
                   EXPECT_EQ(table.Erase(key), POWERCUT_OK);
                 }
                 done = true;
               },
               [&] {
                 for (uint64_t i = 0; !done; ++i) {
                   const uint64_t key = 1 + i % kKeys;
                   const std::string value = table.Lookup(key);
                   if (!value.empty() && key_of[value] != key) ++foreign;
                 }
               },
               [&] {
                 for (uint64_t i = 0; !done; ++i) (void)table.Update(1 + i % kKeys, value_of(1 + i % kKeys, kRounds));
               }});
  EXPECT_EQ(foreign, 0u);
  EXPECT_TRUE(table.Contents().empty());
}

TEST_P(PclhtThreadsTest, ATableGrowsUnderItsClients) {
  constexpr uint64_t kThreads = 3, kKeys = 150;
  TestTable table = Make({{"buckets", "1"}}, GetParam());
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  std::atomic<uint64_t> missed = 0;
  const auto fill = [&](uint64_t who) {
    for (uint64_t i = 0; i < kKeys; ++i) {
      const uint64_t key = 1 + who * kKeys + i, early = 1 + who * kKeys + i / 2;
      EXPECT_EQ(table.Insert(key, key), POWERCUT_OK);
      if (table.Lookup(key) != table.Value(key)) ++missed;
      if (table.Lookup(early) != table.Value(early)) ++missed;
      if (i % 16 == 15) EXPECT_EQ(table.Maintain("status"), POWERCUT_OK);
    }
  };
  RunTogether({[&] { fill(0); }, [&] { fill(1); }, [&] { fill(2); }});
  EXPECT_EQ(missed, 0u);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(table.Contents().size(), kThreads * kKeys);
    for (uint64_t key = 1; key <= kThreads * kKeys; ++key) EXPECT_EQ(table.Lookup(key), table.Value(key));
    ASSERT_EQ(table.Cut(), POWERCUT_OK);  // frees what the threads left behind
    EXPECT_EQ(table.Damage(), "");
  }
}

TEST(PclhtWordsTest, AResizeWithoutRoomLetsItsClientsGoOn) {
  constexpr uint64_t kUpdates = 40;
  TestTable table = Make({{"buckets", "4"}, {"auto_resize", "off"}}, {"words", 8}, 8 << 10);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  // Room for the new table and not for its chains.
  constexpr uint64_t kItems = 240;
  for (uint64_t key = 1; key <= kItems; ++key) ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);
  std::atomic<bool> done = false;
  RunTogether({[&] {
                 do EXPECT_EQ(table.Maintain("expand"), POWERCUT_FULL);
                 while (!done);
               },
               [&] {
                 for (uint64_t i = 1; i <= kUpdates; ++i) {
                   for (uint64_t key = 1; key <= 8; ++key) {
                     EXPECT_EQ(table.Update(key, 1000 * i + key), POWERCUT_OK);
                     EXPECT_EQ(table.Lookup(key), table.Value(1000 * i + key));
                   }
                 }
                 done = true;
               }});
  EXPECT_EQ(table.Damage(), "");
  EXPECT_EQ(table.Contents().size(), kItems);
}

std::string NameOf(const testing::TestParamInfo<Kind>& kind) { return kind.param.items; }

INSTANTIATE_TEST_SUITE_P(Items, PclhtThreadsTest,
                         testing::Values(Kind{"words", 8}, Kind{"inline", 15}, Kind{"pointer", 40}), NameOf);

}  // namespace
}  // namespace powercut::pclht

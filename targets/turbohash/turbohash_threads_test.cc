// Real threads on one open table (concurrency=concurrent, `hardened`): what they are told must be what some order of
// their operations explains. The engine explores schedules; this is the plain build on the real machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>

#include "targets/common/test_threads.h"

namespace powercut::turbohash {
namespace {

struct Kind {
  const char* name;
  uint32_t value_size;  // more than 8 bytes lie in cells (pointer mode)
  test::TestTable::Settings settings = {};
};

class TurboHashThreads : public test::ThreadsTest<Kind> {
 protected:
  // Small shards, so that inserts rewrite them.
  TurboHashThreads() : ThreadsTest(Settings(), {.value = GetParam().value_size}) {}

  static test::TestTable::Settings Settings() {
    test::TestTable::Settings settings = GetParam().settings;
    settings.insert(settings.end(), {{"shards", "2"}, {"buckets", "1"}});
    return settings;
  }

  void ExpectContents(const std::map<uint64_t, uint64_t>& expected) {
    std::multimap<std::string, std::string> items;
    for (const auto& [key, value] : expected) items.emplace(table_.Key(key), table_.Value(value));
    for (int opening = 0; opening < 2; ++opening) {
      EXPECT_EQ(table_.Contents(), items);
      EXPECT_EQ(table_.Damage(), "");
      for (const auto& [key, value] : expected) EXPECT_EQ(table_.Lookup(key), table_.Value(value));
      table_.Close();
      ASSERT_EQ(table_.Open(), POWERCUT_OK);
    }
  }
};

TEST_P(TurboHashThreads, OfTwoInsertsOfAKeyOneIsFirst) {
  constexpr uint64_t kKeys = 2000;
  std::array<std::array<powercut_status, kKeys + 1>, 2> answers{};
  threads_.Run(2, [&](int thread) {
    for (uint64_t key = 1; key <= kKeys; ++key) {
      answers[thread][key] = table_.Insert(key, key * 2 + static_cast<uint64_t>(thread));
    }
  });
  std::map<uint64_t, uint64_t> expected;
  for (uint64_t key = 1; key <= kKeys; ++key) {
    const int first = answers[0][key] == POWERCUT_OK ? 0 : 1;
    EXPECT_EQ(answers[first][key], POWERCUT_OK) << key;
    EXPECT_EQ(answers[1 - first][key], POWERCUT_EXISTS) << key;
    expected[key] = key * 2 + static_cast<uint64_t>(first);
  }
  ExpectContents(expected);
}

// One writer counts up the values of keys that lie in few buckets. A second writer deletes and inserts, so that slots,
// cells and shards are used again. A reader always finds a key of the first writer, and never an older value than
// before.
TEST_P(TurboHashThreads, AReaderFindsAKeyUnderUpdate) {
  constexpr uint64_t kKeys = 4, kRounds = 9000;
  std::map<std::string, uint64_t> ids;  // of a value: key * 10'000 + round
  std::map<uint64_t, uint64_t> expected;
  for (uint64_t key = 1; key <= kKeys; ++key) {
    for (uint64_t round = 0; round <= kRounds; ++round) ids[table_.Value(key * 10'000 + round)] = key * 10'000 + round;
    ASSERT_EQ(table_.Insert(key, key * 10'000), POWERCUT_OK);
    expected[key] = key * 10'000 + kRounds;
  }
  std::atomic<bool> goes_on = true;
  threads_.Run(3, [&](int thread) {
    if (thread == 0) {
      for (uint64_t round = 1; round <= kRounds; ++round) {
        for (uint64_t key = 1; key <= kKeys; ++key) ASSERT_EQ(table_.Update(key, key * 10'000 + round), POWERCUT_OK);
      }
      goes_on = false;
    } else if (thread == 1) {
      for (uint64_t key = 100; goes_on; key = key == 111 ? 100 : key + 1) {
        ASSERT_EQ(table_.Insert(key, key), POWERCUT_OK);
        ASSERT_EQ(table_.Erase(key), POWERCUT_OK);
        if (key == 111) ASSERT_EQ(table_.Maintain("gc"), POWERCUT_OK);
      }
    } else {
      std::array<uint64_t, kKeys + 1> last{};
      while (goes_on) {
        for (uint64_t key = 1; key <= kKeys; ++key) {
          const std::string value = table_.Lookup(key);
          const auto id = ids.find(value);
          ASSERT_NE(id, ids.end()) << "key " << key << (value.empty() ? " is not found" : " has a value of no one");
          ASSERT_EQ(id->second / 10'000, key);
          ASSERT_GE(id->second, last[key]);
          last[key] = id->second;
        }
      }
    }
  });
  ExpectContents(expected);
}

// Writers of different keys in the same shards: no commit undoes the other's.
TEST_P(TurboHashThreads, EachWriterFindsWhatItWrote) {
  constexpr uint64_t kRounds = 4000;
  threads_.Run(3, [&](int thread) {
    const uint64_t base = 1 + static_cast<uint64_t>(thread) * 10;
    for (uint64_t round = 1; round <= kRounds; ++round) {
      for (uint64_t key = base; key < base + 4; ++key) {
        ASSERT_EQ(table_.Insert(key, round), POWERCUT_OK);
        ASSERT_EQ(table_.Update(key, key * 1000 + round), POWERCUT_OK);
        ASSERT_EQ(table_.Lookup(key), table_.Value(key * 1000 + round));
        if (round < kRounds) ASSERT_EQ(table_.Erase(key), POWERCUT_OK);
        if (round < kRounds) ASSERT_EQ(table_.Lookup(key), "");
      }
    }
  });
  std::map<uint64_t, uint64_t> expected;
  for (uint64_t base : {1, 11, 21}) {
    for (uint64_t key = base; key < base + 4; ++key) expected[key] = key * 1000 + kRounds;
  }
  ExpectContents(expected);
}

INSTANTIATE_TEST_SUITE_P(
    Items, TurboHashThreads,
    testing::Values(Kind{"InSlots", 8}, Kind{"InCells", 16}, Kind{"InAPool", 16, {{"reclaim", "pool"}}},
                    Kind{"InChunks", 16, {{"allocator", "threads"}, {"reclaim", "pool"}, {"transactions", "on"}}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace powercut::turbohash

// Items out of the slots. Cuts the power at the named places of the protocol, with all visible stores durable, and
// compares the recovered table with a map; an update gives its key a value of another size.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "targets/common/test_cuts.h"
#include "targets/common/test_table.h"

namespace powercut::cceh {
namespace {

using test::marks;
using test::TestTable;

constexpr uint32_t kMostValue = 200;

const powercut_target* Target() { return powercut_target_entry(POWERCUT_TARGET_ABI); }

// Parameters: items, split, hash.
class CcehItemsTest : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {
 protected:
  CcehItemsTest()
      : table_(Target(), "hardened",
               {{"items", std::get<0>(GetParam())},
                {"split", std::get<1>(GetParam())},
                {"hash", std::get<2>(GetParam())},
                {"slots", "8"},
                {"depth", "0"}},
               24, kMostValue, 1 << 20, 1) {}

  void SetUp() override {
    ASSERT_EQ(table_.Format(), POWERCUT_OK) << table_.error();
    ASSERT_EQ(table_.Open(), POWERCUT_OK);
  }
  template <typename Call>
  powercut_status Put(Call call, uint64_t key, const std::string& value) {
    const std::string k = table_.Key(key);
    return call(table_.handle(), {k.data(), k.size()}, {value.data(), value.size()});
  }

  TestTable table_;
};

// One operation in three is cut somewhere; the cut may land in the recovery of an earlier cut as well.
TEST_P(CcehItemsTest, WhatWasAcknowledgedSurvives) {
  std::map<uint64_t, std::string> model;
  std::mt19937_64 random(11);
  uint64_t cuts = 0;
  marks.seen.clear();
  for (uint64_t serial = 1; serial <= 4000; ++serial) {
    const uint64_t key = 1 + random() % 800;
    const std::string value = test::Spread(serial << 32, 1 + random() % kMostValue);
    const std::string before = model.contains(key) ? model[key] : "";
    std::string after = value;
    const int until_cut = random() % 3 == 0 ? static_cast<int>(random() % 7) : -1;
    const auto operate = [&] {
      if (before.empty()) {
        ASSERT_EQ(Put(Target()->insert, key, value), POWERCUT_OK);
      } else if (random() % 2 == 0) {
        ASSERT_EQ(Put(Target()->update, key, value), POWERCUT_OK);
      } else {
        after = "";
        ASSERT_EQ(table_.Erase(key), POWERCUT_OK);
      }
    };
    const bool done = test::EndsUncut(until_cut, &random, 2, operate, [&] { ASSERT_EQ(table_.Cut(), POWERCUT_OK); });
    cuts += done ? 0 : 1;
    const std::string now = table_.Lookup(key);
    ASSERT_TRUE(now == after || (!done && now == before)) << "operation " << serial;
    if (now.empty()) {
      model.erase(key);
    } else {
      model[key] = now;
    }
    if (serial % 50 != 0) continue;
    ASSERT_EQ(table_.Damage(), "");
    for (const auto& [live, expected] : model) ASSERT_EQ(table_.Lookup(live), expected);
  }
  EXPECT_GT(cuts, 200);
  const bool has_log = std::string(std::get<0>(GetParam())) == "transaction";
  EXPECT_EQ(marks.seen.contains("recover.rolled_back"), has_log);
  EXPECT_EQ(marks.seen.contains("recover.split"), true);
}

TEST_P(CcehItemsTest, RefusesWhatIsTooLarge) {
  ASSERT_EQ(Put(Target()->insert, 1, "a"), POWERCUT_OK);
  EXPECT_EQ(Put(Target()->update, 1, std::string(kMostValue + 1, 'x')), POWERCUT_TOO_LARGE);
  EXPECT_EQ(Put(Target()->insert, 2, ""), POWERCUT_UNSUPPORTED);
  EXPECT_EQ(table_.Lookup(1), "a");
}

INSTANTIATE_TEST_SUITE_P(Shapes, CcehItemsTest,
                         testing::Combine(testing::Values("pointer", "transaction"), testing::Values("lazy", "cow"),
                                          testing::Values("single", "double")));

TEST(CcehSizes, OfSlotsAreWords) {
  char error[256] = "";
  powercut_config config = ConfigOf("hardened", nullptr, 0, 8, 8, error, sizeof error);
  config.least_value_size = 1;
  powercut_traits traits{};
  EXPECT_EQ(Target()->traits(&config, &traits), POWERCUT_BAD_CONFIG);
  EXPECT_NE(std::string(error).find("items=pointer"), std::string::npos) << error;
  config.least_value_size = 8;
  ASSERT_EQ(Target()->traits(&config, &traits), POWERCUT_OK);
  EXPECT_EQ(traits.mixed_sizes, 0u);
}

}  // namespace
}  // namespace powercut::cceh

// Items out of the slots. Cuts the power at every named place of the protocol (common/test_items.h), in every shape.
#include <gtest/gtest.h>

#include <string>

#include "targets/common/test_items.h"
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

TEST_P(CcehItemsTest, WhatWasAcknowledgedSurvives) {
  const auto [kind, split, hash] = GetParam();
  test::Items items({{"items", kind}, {"split", split}, {"hash", hash}, {"slots", "8"}, {"depth", "0"}});
  marks.seen.clear();
  test::WhatWasAcknowledgedSurvives(&items, nullptr, nullptr, /*keys=*/800);
  EXPECT_EQ(marks.seen.contains("recover.rolled_back"), std::string(kind) == "transaction");
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

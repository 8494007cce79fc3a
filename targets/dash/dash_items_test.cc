// Items of mixed sizes behind pointers, and a cut at every named place of the protocol (common/test_items.h).
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "targets/common/test_items.h"

namespace powercut::dash {
namespace {

class DashItemsTest : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(DashItemsTest, WhatWasAcknowledgedSurvives) {
  const auto [stash, recovery] = GetParam();
  test::Items items({{"items", "pointer"}, {"slots", "2"}, {"stash", stash}, {"recovery", recovery}});
  test::WhatWasAcknowledgedSurvives(&items);
}

INSTANTIATE_TEST_SUITE_P(Shapes, DashItemsTest,
                         testing::Combine(testing::Values("0", "1"), testing::Values("lazy", "eager")));

TEST(DashItems, TakeNoOtherSizesInline) {
  char error[256] = "";
  const powercut_config config = ConfigOf("hardened", nullptr, 0, 16, 8, error, sizeof error);
  powercut_traits traits{};
  const powercut_target* target = powercut_target_entry(POWERCUT_TARGET_ABI);
  EXPECT_EQ(target->traits(&config, &traits), POWERCUT_BAD_CONFIG);
  EXPECT_EQ(std::string(error), "dash takes keys and values of 8 bytes, not 16 and 8");
  const powercut_config words = ConfigOf("hardened", nullptr, 0, 8, 8, error, sizeof error);
  EXPECT_EQ(target->traits(&words, &traits), POWERCUT_OK);
  EXPECT_EQ(traits.mixed_sizes, 0u);
  const powercut_option pointer{"items", "pointer"};
  const powercut_config any = ConfigOf("hardened", &pointer, 1, 16, 100, error, sizeof error);
  EXPECT_EQ(target->traits(&any, &traits), POWERCUT_OK);
  EXPECT_EQ(traits.mixed_sizes, 1u);
}

}  // namespace
}  // namespace powercut::dash

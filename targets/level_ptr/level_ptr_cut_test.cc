// Cuts the power at every named place of the protocol (common/test_items.h), in every shape.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "targets/common/test_items.h"

namespace powercut::level_ptr {
namespace {

class LevelPtrCutTest : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {};

TEST_P(LevelPtrCutTest, WhatWasAcknowledgedSurvives) {
  const auto [slots, resize, opportunistic] = GetParam();
  test::Items items({{"top", "2"}, {"slots", slots}, {"resize", resize}, {"opportunistic", opportunistic}});
  test::WhatWasAcknowledgedSurvives(&items, "expand", "shrink");
}

INSTANTIATE_TEST_SUITE_P(Shapes, LevelPtrCutTest,
                         testing::Combine(testing::Values("4", "8", "16"), testing::Values("inplace", "traditional"),
                                          testing::Values("on", "off")));

TEST(LevelPtrPort, WhatWasAcknowledgedSurvives) {
  test::Items items({{"top", "4"}, {"port", "clevel"}});
  test::WhatWasAcknowledgedSurvives(&items, "expand", "shrink");
}

TEST(LevelPtrPort, DecidesItsShape) {
  char error[256] = "";
  const powercut_option options[] = {{"port", "clevel"}, {"slots", "8"}};
  const powercut_config config = ConfigOf("hardened", options, 2, 8, 8, error, sizeof error);
  powercut_traits traits{};
  EXPECT_EQ(powercut_target_entry(POWERCUT_TARGET_ABI)->traits(&config, &traits), POWERCUT_BAD_CONFIG);
  EXPECT_EQ(std::string(error), "port=clevel decides option slots: leave it out");
}

TEST(LevelPtr, RefusesThreads) {
  char error[256] = "";
  const powercut_option concurrent{"concurrency", "concurrent"};
  const powercut_config config = ConfigOf("hardened", &concurrent, 1, 8, 8, error, sizeof error);
  powercut_traits traits{};
  EXPECT_EQ(powercut_target_entry(POWERCUT_TARGET_ABI)->traits(&config, &traits), POWERCUT_BAD_CONFIG);
  EXPECT_NE(std::string(error).find("one thread at a time"), std::string::npos) << error;
}

}  // namespace
}  // namespace powercut::level_ptr

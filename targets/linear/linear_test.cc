// Cases of linear probing that no scenario and no model of all schemes covers: a table without a free slot.
#include <gtest/gtest.h>

#include <tuple>

#include "targets/common/test_table.h"

namespace powercut::linear {
namespace {

using test::TestTable;

class LinearTest : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(LinearTest, AFullTableStillFindsErasesAndTakesItems) {
  const auto [variant, erase] = GetParam();
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), variant,
                  {{"slots", "8"}, {"auto_expand", "off"}, {"erase", erase}}, 8, 40, 64 << 10);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  for (uint64_t key = 1; key <= 8; ++key) ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);
  EXPECT_EQ(table.Insert(9, 9), POWERCUT_FULL);
  EXPECT_EQ(table.Insert(3, 9), POWERCUT_EXISTS);
  EXPECT_EQ(table.Lookup(9), "");
  // Every item is erased once and comes back, so that every slot is a hole once.
  for (uint64_t key = 1; key <= 8; ++key) {
    ASSERT_EQ(table.Erase(key), POWERCUT_OK);
    EXPECT_EQ(table.Lookup(key), "");
    EXPECT_EQ(table.Contents().size(), 7u);
    EXPECT_EQ(table.Damage(), "");
    ASSERT_EQ(table.Cut(), POWERCUT_OK);
    ASSERT_EQ(table.Insert(key, key + 100), POWERCUT_OK);
  }
  for (uint64_t key = 1; key <= 8; ++key) EXPECT_EQ(table.Lookup(key), table.Value(key + 100));
  EXPECT_EQ(table.Maintain("expand"), POWERCUT_OK);
  for (uint64_t key = 1; key <= 8; ++key) EXPECT_EQ(table.Erase(key), POWERCUT_OK);
  EXPECT_EQ(table.Contents().size(), 0u);
  EXPECT_EQ(table.Damage(), "");
}

INSTANTIATE_TEST_SUITE_P(Variants, LinearTest,
                         testing::Combine(testing::Values("published", "hardened"),
                                          testing::Values("shift", "tombstone")));

}  // namespace
}  // namespace powercut::linear

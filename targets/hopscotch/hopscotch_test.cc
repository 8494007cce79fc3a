// Cases of hopscotch hashing that no scenario and no model of all schemes covers: a table without a free bucket, and a
// neighbourhood as large as the table.
#include <gtest/gtest.h>

#include "targets/common/test_table.h"

namespace powercut::hopscotch {
namespace {

using test::TestTable;

class HopscotchTest : public testing::TestWithParam<const char*> {};

TEST_P(HopscotchTest, AFullTableStillFindsErasesAndTakesItems) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), GetParam(),
                  {{"buckets", "8"}, {"auto_expand", "off"}, {"hop", "32"}}, 8, 40, 64 << 10);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  for (uint64_t key = 1; key <= 8; ++key) ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);
  EXPECT_EQ(table.Insert(9, 9), POWERCUT_FULL);
  EXPECT_EQ(table.Insert(3, 9), POWERCUT_EXISTS);
  EXPECT_EQ(table.Lookup(9), "");
  for (uint64_t key = 1; key <= 8; ++key) {
    ASSERT_EQ(table.Erase(key), POWERCUT_OK);
    EXPECT_EQ(table.Contents().size(), 7u);
    EXPECT_EQ(table.Damage(), "");
    ASSERT_EQ(table.Cut(), POWERCUT_OK);
    ASSERT_EQ(table.Insert(key, key + 100), POWERCUT_OK);
  }
  EXPECT_EQ(table.Maintain("expand"), POWERCUT_OK);
  for (uint64_t key = 1; key <= 8; ++key) EXPECT_EQ(table.Update(key, key), POWERCUT_OK);
  for (uint64_t key = 1; key <= 8; ++key) EXPECT_EQ(table.Lookup(key), table.Value(key));
  EXPECT_EQ(table.Damage(), "");
}

INSTANTIATE_TEST_SUITE_P(Variants, HopscotchTest, testing::Values("published", "hardened"));

}  // namespace
}  // namespace powercut::hopscotch

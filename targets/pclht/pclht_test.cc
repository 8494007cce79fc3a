// Cases of P-CLHT that no scenario and no model of other schemes covers: the key 0, which marks an empty entry, and the
// ways a table changes its size.
#include <gtest/gtest.h>

#include "targets/common/test_table.h"

namespace powercut::pclht {
namespace {

using test::TestTable;

constexpr uint64_t kZeroKey = 0;  // Spread(0) is eight bytes of zero

class PclhtTest : public testing::TestWithParam<const char*> {
 protected:
  TestTable Make(uint64_t pool_size, TestTable::Settings settings) {
    return {powercut_target_entry(POWERCUT_TARGET_ABI), GetParam(), std::move(settings), 8, 8, pool_size};
  }
};

TEST_P(PclhtTest, KeyZeroIsAKeyLikeAnyOther) {
  TestTable table = Make(64 << 10, {});
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  ASSERT_EQ(table.Key(kZeroKey), std::string(8, '\0'));
  EXPECT_EQ(table.Lookup(kZeroKey), "");
  EXPECT_EQ(table.Update(kZeroKey, 1), POWERCUT_NOT_FOUND);
  EXPECT_EQ(table.Erase(kZeroKey), POWERCUT_NOT_FOUND);
  EXPECT_EQ(table.Insert(kZeroKey, 1), POWERCUT_OK);
  EXPECT_EQ(table.Insert(kZeroKey, 2), POWERCUT_EXISTS);
  EXPECT_EQ(table.Lookup(kZeroKey), table.Value(1));
  for (uint64_t key = 1; key <= 40; ++key) ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);  // through a resize
  EXPECT_EQ(table.Update(kZeroKey, 3), POWERCUT_OK);
  ASSERT_EQ(table.Cut(), POWERCUT_OK);
  EXPECT_EQ(table.Lookup(kZeroKey), table.Value(3));
  EXPECT_EQ(table.Copies(kZeroKey), std::vector<std::string>{table.Value(3)});
  EXPECT_EQ(table.Contents().size(), 41u);
  EXPECT_EQ(table.Erase(kZeroKey), POWERCUT_OK);
  EXPECT_EQ(table.Lookup(kZeroKey), "");
  EXPECT_EQ(table.Contents().size(), 40u);
  EXPECT_EQ(table.Damage(), "");
}

TEST_P(PclhtTest, AResizeWithoutRoomChangesNothing) {
  TestTable table = Make(8 << 10, {{"buckets", "4"}, {"auto_resize", "off"}});
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  // Room for the new table and not for its chains; once more with no room at all.
  uint64_t items = 0;
  for (; items < 240; ++items) ASSERT_EQ(table.Insert(items + 1, items + 1), POWERCUT_OK);
  EXPECT_EQ(table.Maintain("expand"), POWERCUT_FULL);
  EXPECT_EQ(table.Damage(), "");
  while (table.Insert(items + 1, items + 1) == POWERCUT_OK) ++items;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(table.Maintain("expand"), POWERCUT_FULL);
  EXPECT_EQ(table.Damage(), "");
  // The locks that the resize took were given back.
  for (uint64_t key = 1; key <= items; ++key) EXPECT_EQ(table.Update(key, 1000 + key), POWERCUT_OK);
  for (uint64_t key = 1; key <= items; ++key) EXPECT_EQ(table.Lookup(key), table.Value(1000 + key));
}

INSTANTIATE_TEST_SUITE_P(Variants, PclhtTest, testing::Values("published", "hardened"));

}  // namespace
}  // namespace powercut::pclht

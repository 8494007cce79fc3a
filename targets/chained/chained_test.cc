// Cases of the chained table that no scenario and no model of all schemes covers: items of several sizes in one chain,
// and a pool that has no room to expand.
#include <gtest/gtest.h>

#include "targets/common/test_table.h"

namespace powercut::chained {
namespace {

using test::TestTable;

class ChainedTest : public testing::TestWithParam<const char*> {
 protected:
  TestTable Make(uint64_t pool_size, TestTable::Settings settings) {
    return {powercut_target_entry(POWERCUT_TARGET_ABI), GetParam(), std::move(settings), 8, 40, pool_size, 1};
  }
};

TEST_P(ChainedTest, ItemsOfSeveralSizesShareAChain) {
  TestTable table = Make(64 << 10, {{"buckets", "1"}, {"auto_expand", "off"}});
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  const powercut_target* target = powercut_target_entry(POWERCUT_TARGET_ABI);
  const auto put = [&](auto call, uint64_t key, size_t size) {
    const std::string k = table.Key(key), v(size, static_cast<char>('a' + key));
    return call(table.handle(), {k.data(), k.size()}, {v.data(), v.size()});
  };
  for (uint64_t key = 1; key <= 4; ++key) ASSERT_EQ(put(target->insert, key, 10 * key), POWERCUT_OK);
  EXPECT_EQ(put(target->insert, 3, 1), POWERCUT_EXISTS);
  EXPECT_EQ(put(target->update, 9, 1), POWERCUT_NOT_FOUND);
  EXPECT_EQ(put(target->update, 2, 41), POWERCUT_TOO_LARGE);
  EXPECT_EQ(put(target->update, 2, 0), POWERCUT_UNSUPPORTED);
  EXPECT_EQ(put(target->update, 1, 40), POWERCUT_OK);  // grows
  EXPECT_EQ(put(target->update, 4, 1), POWERCUT_OK);   // shrinks
  ASSERT_EQ(table.Cut(), POWERCUT_OK);
  EXPECT_EQ(table.Lookup(1), std::string(40, 'b'));
  EXPECT_EQ(table.Lookup(2), std::string(20, 'c'));
  EXPECT_EQ(table.Lookup(4), "e");
  EXPECT_EQ(table.Erase(2), POWERCUT_OK);  // from the middle of the chain
  EXPECT_EQ(table.Contents().size(), 3u);
  EXPECT_EQ(table.Damage(), "");
}

TEST_P(ChainedTest, APoolWithoutRoomToExpandStillTakesItems) {
  TestTable table = Make(8 << 10, {{"buckets", "2"}, {"load", "1"}});
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  uint64_t items = 0;
  while (table.Insert(items + 1, items + 1) == POWERCUT_OK) ++items;
  EXPECT_GT(items, 60u);  // more than half of the pool, so the last ones came behind a refused expansion
  EXPECT_EQ(table.Maintain("expand"), POWERCUT_FULL);
  EXPECT_EQ(table.Damage(), "");
  ASSERT_EQ(table.Cut(), POWERCUT_OK);
  for (uint64_t key = 1; key <= items; ++key) EXPECT_EQ(table.Lookup(key), table.Value(key));
  EXPECT_EQ(table.Erase(1), POWERCUT_OK);
  EXPECT_EQ(table.Insert(items + 1, items + 1), POWERCUT_OK);
}

INSTANTIATE_TEST_SUITE_P(Variants, ChainedTest, testing::Values("published", "hardened"));

}  // namespace
}  // namespace powercut::chained

// Cases of P-CLHT that no scenario and no model of other schemes covers: the key 0, which marks an empty entry, the
// ways a table changes its size, and values of many sizes.
#include <gtest/gtest.h>

#include <map>
#include <random>

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

// Values of 1 to 200 bytes against a map: blocks of all lengths are taken, freed and taken again, through resizes and
// reopened pools.
TEST_P(PclhtTest, ValuesOfAnySizeAgreeWithAMap) {
  const powercut_target* target = powercut_target_entry(POWERCUT_TARGET_ABI);
  TestTable table(target, GetParam(), {{"items", "pointer"}, {"buckets", "1"}}, 16, 200, 64 << 10, 1);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  const auto bytes = [](const std::string& text) { return powercut_bytes{text.data(), text.size()}; };
  std::map<uint64_t, std::string> model;
  std::mt19937_64 random(5);
  for (uint64_t serial = 1; serial <= 4000; ++serial) {
    const uint64_t key = 1 + random() % 60;
    const std::string name = table.Key(key), value = test::Spread(serial << 20, 1 + random() % 200);
    const uint64_t dice = random() % 100;
    if (dice < 45) {
      const powercut_status status = target->insert(table.handle(), bytes(name), bytes(value));
      ASSERT_EQ(status, model.count(key) != 0 ? POWERCUT_EXISTS : POWERCUT_OK);
      model.emplace(key, value);
    } else if (dice < 75) {
      const powercut_status status = target->update(table.handle(), bytes(name), bytes(value));
      ASSERT_EQ(status, model.count(key) != 0 ? POWERCUT_OK : POWERCUT_NOT_FOUND);
      if (status == POWERCUT_OK) model[key] = value;
    } else if (dice < 97) {
      ASSERT_EQ(table.Erase(key), model.erase(key) != 0 ? POWERCUT_OK : POWERCUT_NOT_FOUND);
    } else {
      ASSERT_EQ(table.Cut(), POWERCUT_OK);
      ASSERT_EQ(table.Damage(), "");
    }
    const auto known = model.find(key);
    ASSERT_EQ(table.Lookup(key), known == model.end() ? "" : known->second);
  }
  std::multimap<std::string, std::string> items;
  for (const auto& [key, value] : model) items.emplace(table.Key(key), value);
  EXPECT_EQ(table.Contents(), items);
}

INSTANTIATE_TEST_SUITE_P(Variants, PclhtTest, testing::Values("published", "hardened"));

}  // namespace
}  // namespace powercut::pclht

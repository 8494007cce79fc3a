// Tests beyond the conformance suite: the table across many expansions, a split without memory, and a cut at every
// mark.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "targets/common/test_cuts.h"
#include "targets/common/test_items.h"
#include "targets/common/test_table.h"

namespace powercut::dash_lh {
namespace {

using test::Cut;
using test::marks;
using test::TestTable;

const TestTable::Settings kSmall = {{"slots", "2"}, {"stash", "1"}, {"stride", "1"}};

void ExpectContents(TestTable* table, const std::map<uint64_t, uint64_t>& model) {
  for (const auto& [key, value] : model) EXPECT_EQ(table->Lookup(key), table->Value(value)) << "key " << key;
  EXPECT_EQ(table->Damage(), "");
}

class DashLhTest : public testing::TestWithParam<const char*> {};

// With one slot a bucket, segments are split from ones that are absent themselves.
TEST_P(DashLhTest, GrowsAndShrinksInRecords) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), GetParam(), {{"slots", "1"}, {"stash", "0"}}, 8, 8,
                  4 << 20);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  std::map<uint64_t, uint64_t> model;
  for (uint64_t key = 1; key <= 1000; ++key) {
    ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);
    model[key] = key;
    if (key % 3 != 0) continue;
    ASSERT_EQ(table.Erase(key / 3), POWERCUT_OK) << key;
    model.erase(key / 3);
  }
  EXPECT_EQ(table.Contents().size(), model.size());
  ExpectContents(&table, model);
  table.Close();
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  ExpectContents(&table, model);
}

INSTANTIATE_TEST_SUITE_P(Variants, DashLhTest, testing::Values("published", "hardened"),
                         [](const auto& info) { return std::string(info.param); });

// Every chain that the first array has room for is there, and no other array.
TEST(DashLhMemory, WithoutRoomTheTableStaysUsable) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", {{"slots", "1"}, {"stash", "0"}}, 8, 8,
                  8 << 10);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  std::map<uint64_t, uint64_t> model;
  for (uint64_t key = 1; key <= 100; ++key) {
    const powercut_status status = table.Insert(key, key);
    if (status == POWERCUT_OK) model[key] = key;
    if (status != POWERCUT_OK) EXPECT_EQ(status, POWERCUT_FULL);
  }
  EXPECT_LT(model.size(), 100u);
  ExpectContents(&table, model);
  while (!model.empty()) {
    ASSERT_EQ(table.Erase(model.begin()->first), POWERCUT_OK);
    model.erase(model.begin());
    ExpectContents(&table, model);
  }
}

// Every visible store is durable at these cuts; what an explored scenario adds is the stores that are not.
TEST(DashLhCuts, AtEveryMark) {
  for (int passed = 0;; ++passed) {
    TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", kSmall, 8, 8, 1 << 20);
    ASSERT_EQ(table.Format(), POWERCUT_OK);
    ASSERT_EQ(table.Open(), POWERCUT_OK);
    std::map<uint64_t, uint64_t> model;
    bool cut = false;
    marks.until_cut = passed;
    for (uint64_t key = 1; key <= 60; ++key) {
      try {
        ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);
      } catch (const Cut&) {
        cut = true;
        ASSERT_EQ(table.Cut(), POWERCUT_OK);
        const powercut_status again = table.Insert(key, key);
        ASSERT_TRUE(again == POWERCUT_OK || again == POWERCUT_EXISTS) << "mark " << passed << " in insert of " << key;
      }
      model[key] = key;
    }
    for (uint64_t key = 1; key <= 60; ++key) {
      try {
        ASSERT_EQ(table.Update(key, key + 100), POWERCUT_OK);
      } catch (const Cut&) {
        cut = true;
        ASSERT_EQ(table.Cut(), POWERCUT_OK);
        ASSERT_EQ(table.Update(key, key + 100), POWERCUT_OK);
      }
      model[key] = key + 100;
    }
    marks.until_cut = -1;
    ExpectContents(&table, model);
    EXPECT_EQ(table.Contents().size(), model.size());
    if (HasFailure()) FAIL() << "after a cut at mark " << passed;
    if (!cut) break;
  }
  for (const char* mark : {"split.filled", "chain.linked", "recover.split", "expand.array"}) {
    EXPECT_EQ(marks.seen.count(mark), 1u) << mark;
  }
}

TEST(DashLhItems, WhatWasAcknowledgedSurvives) {
  test::Items items({{"items", "pointer"}, {"slots", "2"}, {"stash", "1"}, {"stride", "1"}});
  test::WhatWasAcknowledgedSurvives(&items);
}

}  // namespace
}  // namespace powercut::dash_lh

// Every pattern is a map; every bug behaves as long as nobody cuts the power.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "targets/common/test_table.h"
#include "targets/patterns/options.h"

namespace powercut::patterns {
namespace {

using test::TestTable;

class PatternsTest : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(PatternsTest, IsAMap) {
  const auto [pattern, bug] = GetParam();
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", {{"pattern", pattern}, {"bug", bug}}, 16, 15,
                  1 << 18);
  ASSERT_EQ(table.Format(), POWERCUT_OK) << table.error();
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  std::map<uint64_t, uint64_t> model;
  std::mt19937_64 random(7);
  for (uint64_t serial = 1; serial <= 400; ++serial) {
    const uint64_t key = 1 + random() % 40;
    const bool present = model.count(key) != 0;
    switch (random() % 4) {
      case 0:
        if (present) break;
        ASSERT_EQ(table.Insert(key, serial), POWERCUT_OK);
        model[key] = serial;
        break;
      case 1:
        ASSERT_EQ(table.Update(key, serial), present ? POWERCUT_OK : POWERCUT_NOT_FOUND);
        if (present) model[key] = serial;
        break;
      case 2:
        ASSERT_EQ(table.Erase(key), present ? POWERCUT_OK : POWERCUT_NOT_FOUND);
        model.erase(key);
        break;
      case 3:
        ASSERT_EQ(table.Cut(), POWERCUT_OK);
        break;
    }
    ASSERT_EQ(table.Lookup(key), model.count(key) != 0 ? table.Value(model[key]) : "");
  }
  std::multimap<std::string, std::string> expected;
  for (const auto& [key, value] : model) expected.emplace(table.Key(key), table.Value(value));
  EXPECT_EQ(table.Contents(), expected);
  EXPECT_EQ(table.Damage(), "");
}

INSTANTIATE_TEST_SUITE_P(Patterns, PatternsTest,
                         testing::Values(std::pair{"plain", "none"}, std::pair{"helping_persist", "none"},
                                         std::pair{"rewritten_by_recovery", "none"}, std::pair{"volatile_lock", "none"},
                                         std::pair{"bounded_duplicates", "none"}, std::pair{"undo_log", "none"},
                                         std::pair{"intent", "none"}, std::pair{"blocks", "none"},
                                         std::pair{"checked", "none"}));
INSTANTIATE_TEST_SUITE_P(Bugs, PatternsTest,
                         testing::Values(std::pair{"plain", "lost"}, std::pair{"plain", "phantom"},
                                         std::pair{"plain", "stale"}, std::pair{"plain", "redundant_flush"},
                                         std::pair{"plain", "redundant_fence"}, std::pair{"plain", "never_persisted"},
                                         std::pair{"undo_log", "torn"}, std::pair{"undo_log", "not_idempotent"},
                                         std::pair{"bounded_duplicates", "undeclared_duplicates"},
                                         std::pair{"rewritten_by_recovery", "structure"},
                                         std::pair{"volatile_lock", "lock_left"}, std::pair{"intent", "wild_store"},
                                         std::pair{"intent", "abort"}, std::pair{"intent", "segv"},
                                         std::pair{"intent", "hang"}, std::pair{"blocks", "leak"},
                                         std::pair{"checked", "unchecked"}, std::pair{"checked", "swallowed"},
                                         std::pair{"checked", "throwing_new"}, std::pair{"checked", "trusts_zeroes"}));

TEST(PatternsOptions, ABugNeedsItsPattern) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", {{"bug", "torn"}}, 16, 15, 1 << 16);
  EXPECT_EQ(table.Format(), POWERCUT_BAD_CONFIG);
  EXPECT_STREQ(table.error(), "bug torn breaks the pattern undo_log; set pattern = \"undo_log\"");
}

}  // namespace
}  // namespace powercut::patterns

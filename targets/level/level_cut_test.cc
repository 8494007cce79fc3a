// Cuts the power at every named place of the protocol, with all visible stores durable: the one crash state that needs
// no explorer. Compares the recovered table with a map. The other crash states are powercut's job.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "targets/common/test_cuts.h"
#include "targets/common/test_table.h"

namespace powercut::level {
namespace {

using test::Cut;
using test::marks;
using test::TestTable;

class LevelCutTest : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {};

// One operation in three is cut somewhere; the cut may land in the recovery of an earlier cut as well.
TEST_P(LevelCutTest, WhatWasAcknowledgedSurvives) {
  const auto [layout, slots, resize] = GetParam();
  const bool wide = std::string(layout) == "16x15";
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened",
                  {{"top", "2"}, {"layout", layout}, {"slots", slots}, {"resize", resize}}, wide ? 16 : 8,
                  wide ? 15 : 8, 1 << 20);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  std::map<uint64_t, std::string> model;  // key -> value
  std::mt19937_64 random(11);
  for (uint64_t serial = 1; serial <= 4000; ++serial) {
    const uint64_t key = 1 + random() % 150;
    const auto found = model.find(key);
    const std::string before = found == model.end() ? "" : found->second, value = table.Value(serial);
    const uint64_t dice = random() % 100;
    marks.until_cut = random() % 3 == 0 ? static_cast<int>(random() % (dice < 96 ? 4 : 40)) : -1;
    bool resized = false;
    std::string after = before;
    bool done = true;
    try {
      if (dice >= 96) {
        resized = true;
        table.Maintain(dice < 98 ? "expand" : "shrink");
      } else if (before.empty()) {
        after = value;
        ASSERT_EQ(table.Insert(key, serial), POWERCUT_OK);
      } else if (dice < 55) {
        after = value;
        ASSERT_EQ(table.Update(key, serial), POWERCUT_OK);
      } else {
        after = "";
        ASSERT_EQ(table.Erase(key), POWERCUT_OK);
      }
    } catch (const Cut&) {
      done = false;
      marks.until_cut = random() % 2 == 0 ? static_cast<int>(random() % 5) : -1;
      try {
        ASSERT_EQ(table.Cut(), POWERCUT_OK);
      } catch (const Cut&) {
        ASSERT_EQ(table.Cut(), POWERCUT_OK);
      }
    }
    marks.until_cut = -1;
    const std::string now = table.Lookup(key);
    if (resized || done) {
      ASSERT_EQ(now, after) << "operation " << serial;
    } else {
      ASSERT_TRUE(now == before || now == after) << "operation " << serial;
    }
    if (now.empty()) {
      model.erase(key);
    } else {
      model[key] = now;
    }
    if (serial % 50 != 0) continue;
    ASSERT_EQ(table.Damage(), "");
    std::map<std::string, int> copies;
    for (const auto& [k, v] : table.Contents()) ASSERT_LE(++copies[k], 2);
    ASSERT_EQ(copies.size(), model.size());
    for (const auto& [k, v] : model) {
      for (const std::string& copy : table.Copies(k)) ASSERT_EQ(copy, v);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LevelCutTest,
                         testing::Combine(testing::Values("16x15", "8x8"), testing::Values("4", "8", "16"),
                                          testing::Values("inplace", "traditional")));

// A scenario that waits for a mark must be able to reach it.
TEST(LevelMarks, EveryMarkIsReached) {
  marks.seen.clear();
  const TestTable::Settings settings = {{"top", "4"}, {"auto_expand", "off"}};  // full tables move more
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", settings, 16, 15, 1 << 20);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  std::mt19937_64 random(5);
  std::set<uint64_t> live;
  uint64_t key = 1;
  bool again = false;  // what an application does with an operation that was cut
  for (uint64_t serial = 1; serial <= 20000; ++serial) {
    if (!std::exchange(again, false)) key = 1 + random() % 80;
    marks.until_cut = random() % 4 == 0 ? static_cast<int>(random() % (serial % 2 == 0 ? 5 : 30)) : -1;
    try {
      const uint64_t dice = random() % 100;
      if (dice < 45 && live.insert(key).second) {
        table.Insert(key, serial);
      } else if (dice < 70) {
        table.Update(key, serial);
      } else if (dice < 98) {
        live.erase(key);
        table.Erase(key);
      } else {
        table.Maintain(dice < 99 ? "expand" : "shrink");
      }
    } catch (const Cut&) {
      marks.until_cut = -1;
      again = true;
      ASSERT_EQ(table.Cut(), POWERCUT_OK);
    }
    marks.until_cut = -1;
    if (table.Lookup(key).empty()) live.erase(key);
  }
  for (const char* mark : {"insert.top",
                           "insert.bottom",
                           "move.top",
                           "move.bottom",
                           "move.copied",
                           "move.duplicate",
                           "b2t",
                           "b2t.copied",
                           "update.logfree",
                           "update.logged",
                           "update.overwritten",
                           "update.duplicate",
                           "erase",
                           "erase.duplicate",
                           "expand.published",
                           "expand.rehashed",
                           "expand.done",
                           "shrink.published",
                           "shrink.rehashed",
                           "shrink.done",
                           "rehash.copied",
                           "resize.turned",
                           "recover.log",
                           "recover.resize",
                           "recover.duplicate"}) {
    EXPECT_TRUE(marks.seen.count(mark) != 0) << mark;
  }
}

TEST(LevelOptions, ErrorsSayWhatToDo) {
  const auto error_of = [](TestTable::Settings settings, uint32_t key_size, uint32_t value_size) -> std::string {
    TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", std::move(settings), key_size, value_size,
                    1 << 16);
    EXPECT_EQ(table.Format(), POWERCUT_BAD_CONFIG);
    return table.error();
  };
  EXPECT_EQ(error_of({{"top", "6"}}, 16, 15), "option top wants a power of two, not 6");
  EXPECT_EQ(error_of({}, 16, 16), "layout 16x15 takes keys of 16 bytes and values of 1 to 15 bytes, not 16 and 16");
  EXPECT_EQ(error_of({{"layout", "8x8"}}, 16, 15), "layout 8x8 takes keys and values of 8 bytes, not 16 and 15");
}

TEST(LevelOpen, RefusesAPoolThatIsNoTable) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", {}, 16, 15, 1 << 16);
  EXPECT_EQ(table.Open(), POWERCUT_NOT_FORMATTED);
}

}  // namespace
}  // namespace powercut::level

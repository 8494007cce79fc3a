// Cuts the power at the named places of the protocol, with all visible stores durable: the one crash state that needs
// no explorer. Compares the recovered table with a map. The other crash states are powercut's job.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>

#include "targets/common/test_cuts.h"
#include "targets/common/test_table.h"

namespace powercut::smartcuckoo {
namespace {

using test::Cut;
using test::marks;
using test::TestTable;

struct Shape {
  const char* forest;
  uint32_t key_size, value_size;
  const char* stash = "0";
};

class CutTest : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override { marks = {}; }

  void MakeTable() {
    table_.emplace(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened",
                   TestTable::Settings{{"buckets", "16"}, {"forest", GetParam().forest}, {"stash", GetParam().stash}},
                   GetParam().key_size, GetParam().value_size, 1 << 20);
    ASSERT_EQ(table_->Format(), POWERCUT_OK);
    ASSERT_EQ(table_->Open(), POWERCUT_OK);
  }

  bool on_demand() const { return std::string(GetParam().forest) == "on_demand"; }

  // Runs the operation with a cut after some marks, and maybe one in the recovery that follows. True: it was cut.
  template <typename Operation>
  bool RunAndCut(int marks_to_pass, int in_recovery, Operation operation) {
    marks.until_cut = marks_to_pass;
    try {
      operation();
      marks.until_cut = -1;
      return false;
    } catch (const Cut&) {
      marks.until_cut = in_recovery;
      try {
        EXPECT_EQ(table_->Cut(), POWERCUT_OK);
      } catch (const Cut&) {
        EXPECT_EQ(table_->Cut(), POWERCUT_OK);
      }
      marks.until_cut = -1;
      return true;
    }
  }

  // A random history; tables grow and never shrink, so it is kept short and begun anew.
  void RunRound(uint64_t seed);

  std::optional<TestTable> table_;
};

void CutTest::RunRound(uint64_t seed) {
  MakeTable();
  std::map<uint64_t, std::string> model;  // key -> value
  std::mt19937_64 random(seed);
  const size_t copy_bound = on_demand() ? 2 : 1;
  for (uint64_t serial = 1; serial <= 500; ++serial) {
    const uint64_t key = 1 + random() % 60;
    const auto found = model.find(key);
    const std::string before = found == model.end() ? "" : found->second, value = table_->Value(serial);
    const uint64_t dice = random() % 1000;
    const bool maintained = dice < 2, erased = !before.empty() && dice < 300;
    const std::string after = maintained ? before : erased ? "" : value;
    const int to_pass = random() % 3 == 0 ? static_cast<int>(random() % 5) : -1;
    const int in_recovery = random() % 2 == 0 ? static_cast<int>(random() % 3) : -1;
    const bool cut = RunAndCut(to_pass, in_recovery, [&] {
      if (maintained) {
        ASSERT_EQ(table_->Maintain("rehash"), POWERCUT_OK);
      } else if (erased) {
        ASSERT_EQ(table_->Erase(key), POWERCUT_OK);
      } else if (before.empty()) {
        ASSERT_EQ(table_->Insert(key, serial), POWERCUT_OK);
      } else {
        ASSERT_EQ(table_->Update(key, serial), POWERCUT_OK);
      }
    });
    const std::string now = table_->Lookup(key);
    ASSERT_TRUE(now == after || (cut && now == before)) << "operation " << serial;
    if (now.empty()) {
      model.erase(key);
    } else {
      model[key] = now;
    }
    ASSERT_EQ(table_->Damage(), "") << "operation " << serial;
    for (const auto& [other, kept] : model) {
      const std::vector<std::string> copies = table_->Copies(other);
      ASSERT_TRUE(!copies.empty() && copies.size() <= copy_bound) << "operation " << serial;
      for (const std::string& copy : copies) ASSERT_EQ(copy, kept) << "operation " << serial;
    }
  }
}

TEST_P(CutTest, WhatWasAcknowledgedSurvives) {
  const bool stashed = std::string(GetParam().stash) != "0";
  for (uint64_t seed = 1; seed <= (stashed ? 12 : 40); ++seed) RunRound(seed);
  EXPECT_TRUE(marks.seen.count("kick"));
  EXPECT_TRUE(marks.seen.count("learn.duplicate"));
  EXPECT_TRUE(marks.seen.count("rehash.published"));
  EXPECT_EQ(marks.seen.count("erase.duplicate"), on_demand() ? 1u : 0u);
  EXPECT_EQ(marks.seen.count("update.duplicate"), on_demand() ? 1u : 0u);
  EXPECT_EQ(marks.seen.count("recover.log"), GetParam().value_size > 8 ? 1u : 0u);
  EXPECT_EQ(marks.seen.count("insert.stash"), stashed ? 1u : 0u);
  EXPECT_EQ(marks.seen.count("erase.stash"), stashed ? 1u : 0u);
}

// Every live item is moved and the move is cut; then the whole table is rehashed.
TEST_P(CutTest, RehashTakesOneCopyAlong) {
  MakeTable();
  bool duplicate = false;
  for (uint64_t key = 1; key <= 400 && !duplicate; ++key) {
    marks.seen.clear();
    RunAndCut(1, -1, [&] { (void)table_->Insert(key, key); });
    for (uint64_t other = 1; other < key; ++other) duplicate = duplicate || table_->Copies(other).size() == 2;
  }
  ASSERT_EQ(duplicate, on_demand());
  ASSERT_EQ(table_->Maintain("rehash"), POWERCUT_OK);
  EXPECT_EQ(marks.seen.count("rehash.duplicate"), on_demand() ? 1u : 0u);
  for (uint64_t key = 1; key <= 400; ++key) EXPECT_LE(table_->Copies(key).size(), 1u);
  EXPECT_EQ(table_->Damage(), "");
}

INSTANTIATE_TEST_SUITE_P(Shapes, CutTest,
                         testing::Values(Shape{"scan", 8, 8}, Shape{"scan", 16, 32}, Shape{"scan", 8, 8, "4"},
                                         Shape{"on_demand", 8, 8}, Shape{"on_demand", 16, 32}),
                         [](const auto& info) {
                           return info.param.forest + std::string("_") + std::to_string(info.param.value_size) +
                                  "_stash_" + info.param.stash;
                         });

}  // namespace
}  // namespace powercut::smartcuckoo

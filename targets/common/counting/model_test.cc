// A counting table against std::map: random increments, erases, stages, merges and reopens, in all geometries. Linked
// with one scheme.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "targets/common/counting/table.h"
#include "targets/common/test_table.h"

namespace powercut::counting {
namespace {

using test::TestTable;

struct Case {
  const char* variant;
  TestTable::Settings settings;
  uint64_t keys;
};

// Options of the scheme alone: one without a change segment takes no `change`.
TestTable::Settings For(TestTable::Settings settings) {
  const bool logs = kMember.scheme == Scheme::kSegmented || kMember.scheme == Scheme::kLinear;
  std::erase_if(settings, [&](const auto& option) {
    return (option.first == "change" && !logs) || (option.first == "buffer" && kMember.scheme == Scheme::kUnbuffered);
  });
  return settings;
}

class Model : public testing::TestWithParam<Case> {};

TEST_P(Model, Agrees) {
  const powercut_target* target = powercut_target_entry(POWERCUT_TARGET_ABI);
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    TestTable table(target, GetParam().variant, For(GetParam().settings), 8, 8, 1 << 20);
    ASSERT_EQ(table.Format(), POWERCUT_OK);
    ASSERT_EQ(table.Open(), POWERCUT_OK);
    std::map<uint64_t, int64_t> sums;
    uint64_t full = 0;
    for (int step = 0; step < 2'000; ++step) {
      const uint64_t key = 1 + random() % GetParam().keys;
      const uint64_t dice = random() % 100;
      SCOPED_TRACE(testing::Message() << "seed " << seed << " step " << step << " key " << key << " dice " << dice);
      if (dice < 70) {
        const int64_t delta = dice < 40 ? 1 + static_cast<int64_t>(random() % 3) : -1;
        const powercut_status status = table.Increment(key, delta);
        ASSERT_TRUE(status == POWERCUT_OK || status == POWERCUT_FULL) << status;
        if (status == POWERCUT_OK) sums[key] += delta;
        full += status == POWERCUT_FULL;
      } else if (dice < 90) {
        ASSERT_EQ(table.Erase(key), sums[key] == 0 ? POWERCUT_NOT_FOUND : POWERCUT_OK);
        sums[key] = 0;
      } else if (dice < 96) {
        const char* const* commands = target->commands;
        size_t count = 0;
        while (commands[count] != nullptr) ++count;
        if (count == 0) continue;
        const powercut_status status = table.Maintain(commands[random() % count]);
        ASSERT_TRUE(status == POWERCUT_OK || status == POWERCUT_FULL) << status;
      } else {
        const powercut_status status = table.Maintain("sync");
        if (kMember.scheme == Scheme::kUnbuffered) {
          ASSERT_EQ(status, POWERCUT_UNSUPPORTED);
        } else if (status != POWERCUT_OK) {
          ASSERT_EQ(status, POWERCUT_FULL);
          continue;
        }
        ASSERT_EQ(table.Cut(), POWERCUT_OK);
        ASSERT_EQ(table.Damage(), "");
        for (uint64_t any = 1; any <= GetParam().keys; ++any) ASSERT_EQ(table.Sum(any), sums[any]) << any;
      }
      ASSERT_EQ(table.Sum(key), sums[key]);
      int64_t parts = 0;
      for (const std::string& part : table.Copies(key)) {
        int64_t count;
        std::memcpy(&count, part.data(), sizeof count);
        parts += count;
      }
      ASSERT_EQ(parts, sums[key]);
    }
    RecordProperty("full", static_cast<int>(full));
  }
}

// Costs of stages and merges, in the units of the paper's Table 2.
class Costs : public testing::TestWithParam<const char*> {
 protected:
  static constexpr uint32_t kBlocks = 4, kEntries = 8;

  Costs()
      : table_(powercut_target_entry(POWERCUT_TARGET_ABI), GetParam(),
               For({{"blocks", "4"}, {"pages", "4"}, {"entries", "8"}, {"buffer", "1000"}}), 8, 8, 1 << 16) {
    EXPECT_EQ(table_.Format(), POWERCUT_OK);
    EXPECT_EQ(table_.Open(), POWERCUT_OK);
    reinterpret_cast<Table*>(table_.handle())->CountReads();
  }

  // Returns the counts of one command.
  Device::Counts Of(const char* command) {
    const Device::Counts before = counts();
    EXPECT_EQ(table_.Maintain(command), POWERCUT_OK);
    const Device::Counts after = counts();
    return {after.page_reads - before.page_reads,     after.page_writes - before.page_writes,
            after.block_reads - before.block_reads,   after.block_writes - before.block_writes,
            after.block_erases - before.block_erases, after.flushes - before.flushes};
  }
  const Device::Counts& counts() { return reinterpret_cast<Table*>(table_.handle())->counts(); }
  void Add(uint64_t first, uint64_t count) {
    for (uint64_t key = first; key < first + count; ++key) ASSERT_EQ(table_.Increment(key, 1), POWERCUT_OK);
  }

  void Merge();
  void WriteAtOnce();

  TestTable table_;
};

// A merge reads and writes each block once, and a stage writes pages.
void Costs::Merge() {
  const bool staged = kMember.scheme != Scheme::kBounded;
  const uint32_t logs = kMember.scheme == Scheme::kSegmented ? 2 : 1;
  Add(1, 40);
  if (staged) Of("stage");
  Of("merge");
  Add(1, 40);  // the same keys: all blocks are there now
  uint64_t pages = 0;
  if (staged) {
    const Device::Counts stage = Of("stage");
    pages = stage.page_writes;
    EXPECT_GE(pages, 40 / kEntries);
    EXPECT_LT(pages, 40 / kEntries + logs);  // a page that is not full, at the end of each log but for one
    EXPECT_EQ(stage.page_reads + stage.block_reads + stage.block_writes, 0u);
    EXPECT_EQ(stage.flushes, 1u);
  }
  const Device::Counts merge = Of("merge");
  EXPECT_EQ(merge.block_writes, kBlocks);
  // MDB also reads the change blocks, each once: 2k + 1 for k data blocks.
  EXPECT_EQ(merge.block_reads, kBlocks + (kMember.scheme == Scheme::kSegmented ? logs : 0));
  EXPECT_EQ(merge.page_writes, 0u);
  if (kMember.scheme == Scheme::kLinear) {  // "each page will be requested by each data segment block" (2.4)
    EXPECT_GE(merge.page_reads, pages);
    EXPECT_LT(merge.page_reads, pages + kBlocks);
  } else {
    EXPECT_EQ(merge.page_reads, 0u);
  }
}

// Without a buffer, an increment of a key that is there writes its page.
void Costs::WriteAtOnce() {
  Add(1, 40);
  for (uint64_t key = 1; key <= 40; ++key) {
    const Device::Counts before = counts();
    ASSERT_EQ(table_.Increment(key, 1), POWERCUT_OK);
    EXPECT_EQ(counts().page_writes, before.page_writes + 1);
    EXPECT_EQ(counts().flushes, before.flushes);
  }
}

TEST_P(Costs, AreThoseOfTheScheme) {
  if (kMember.scheme == Scheme::kUnbuffered) {
    WriteAtOnce();
  } else {
    Merge();
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Costs, testing::Values("published", "hardened"));

// A table that is full, and whose keys are all erased, has room for other keys.
TEST_P(Costs, ErasingMakesRoom) {
  for (const char* overflow : {"0", "1", "3"}) {
    TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), GetParam(),
                    For({{"blocks", "2"}, {"pages", "2"}, {"entries", "2"}, {"buffer", "3"}, {"overflow", overflow}}),
                    8, 8, 1 << 16);
    ASSERT_EQ(table.Format(), POWERCUT_OK);
    ASSERT_EQ(table.Open(), POWERCUT_OK);
    for (uint64_t round = 0; round < 20; ++round) {
      const uint64_t first = 1 + 100 * round;
      uint64_t end = first;
      while (table.Increment(end, 1) == POWERCUT_OK) ++end;
      // The buffer, at least; without one, the entry where the first key's probing begins.
      ASSERT_GE(end - first, kMember.scheme == Scheme::kUnbuffered ? 1u : 3u) << "round " << round;
      ASSERT_LT(end - first, 100u);
      for (uint64_t key = first; key < end; ++key) ASSERT_EQ(table.Erase(key), POWERCUT_OK) << key;
      if (kMember.scheme != Scheme::kUnbuffered) ASSERT_EQ(table.Maintain("sync"), POWERCUT_OK) << "round " << round;
      for (uint64_t key = first; key < end; ++key) ASSERT_EQ(table.Sum(key), 0);
      ASSERT_EQ(table.Cut(), POWERCUT_OK);
      ASSERT_EQ(table.Damage(), "");
    }
  }
}

// The keys of a full MB table on its device can be erased one by one: a block is always written again with fewer keys.
TEST_P(Costs, AFullBlockCanBeWrittenAgain) {
  if (kMember.scheme != Scheme::kBounded) return;  // in a log there may be changes that have no room
  for (const char* overflow : {"1", "2", "3", "5"}) {
    TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), GetParam(),
                    {{"blocks", "2"}, {"pages", "2"}, {"entries", "2"}, {"buffer", "1"}, {"overflow", overflow}}, 8, 8,
                    1 << 16);
    ASSERT_EQ(table.Format(), POWERCUT_OK);
    ASSERT_EQ(table.Open(), POWERCUT_OK);
    uint64_t end = 1;
    while (table.Increment(end, 1) == POWERCUT_OK) ++end;
    ASSERT_EQ(table.Cut(), POWERCUT_OK);
    for (uint64_t key = 1; key < end; ++key) {
      if (table.Sum(key) == 0) continue;  // it was in the buffer
      ASSERT_EQ(table.Erase(key), POWERCUT_OK);
      ASSERT_EQ(table.Maintain("sync"), POWERCUT_OK) << "key " << key << " of " << end << ", overflow " << overflow;
    }
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* variant : {"published", "hardened"}) {
    cases.push_back({variant, {}, 40});
    cases.push_back({variant, {{"blocks", "1"}, {"pages", "1"}, {"entries", "2"}, {"overflow", "8"}}, 8});
    cases.push_back(
        {variant, {{"blocks", "3"}, {"pages", "2"}, {"entries", "3"}, {"overflow", "4"}, {"buffer", "7"}}, 24});
    cases.push_back({variant, {{"blocks", "5"}, {"change", "25"}, {"overflow", "0"}, {"buffer", "16"}}, 60});
    cases.push_back(
        {variant, {{"page", "1024"}, {"sectors", "2"}, {"entries", "40"}, {"buffer", "64"}, {"blocks", "2"}}, 400});
    cases.push_back(
        {variant, {{"blocks", "16"}, {"change", "12"}, {"entries", "8"}, {"buffer", "32"}, {"overflow", "2"}}, 400});
    cases.push_back({variant, {{"buffer", "1"}, {"entries", "2"}, {"pages", "2"}, {"overflow", "4"}}, 16});
    cases.push_back({variant, {{"ftl", "page"}}, 40});
    cases.push_back({variant, {{"ftl", "block"}, {"blocks", "3"}, {"pages", "2"}, {"entries", "3"}}, 24});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Geometries, Model, testing::ValuesIn(Cases()));

}  // namespace
}  // namespace powercut::counting

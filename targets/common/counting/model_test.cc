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
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Geometries, Model, testing::ValuesIn(Cases()));

}  // namespace
}  // namespace powercut::counting

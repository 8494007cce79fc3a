// Level hashing against std::map: random operations, every option, with resizes and reopens in between.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "targets/common/config.h"
#include "targets/common/test_table.h"
#include "targets/level/table.h"

namespace powercut::level {
namespace {

using test::TestTable;

struct Shape {
  TestTable::Settings settings;
  std::string variant;
  bool wide;
};

Shape DrawShape() {
  const auto one_of = [](std::vector<std::string> values) { return *rc::gen::elementOf(std::move(values)); };
  Shape shape;
  shape.variant = one_of({"published", "hardened"});
  const std::string layout = one_of({"16x15", "8x8"});
  shape.wide = layout == "16x15";
  shape.settings = {{"layout", layout},
                    {"slots", one_of({"4", "8", "16"})},
                    {"top", one_of({"2", "4", "16"})},
                    {"auto_expand", one_of({"on", "on", "off"})},
                    {"opportunistic", one_of({"on", "off"})},
                    {"resize", one_of({"inplace", "inplace", "traditional"})},
                    {"b2t", one_of({"on", "off"})},
                    {"search", one_of({"dynamic", "static"})},
                    {"movement", one_of({"eager", "late"})},
                    {"hashes", one_of({"whole", "halves"})}};
  return shape;
}

void RunAgainstMap(uint64_t pool_size, int operations) {
  const Shape shape = DrawShape();
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), shape.variant, shape.settings, shape.wide ? 16 : 8,
                  shape.wide ? 15 : 8, pool_size);
  const powercut_status formatted = table.Format();
  RC_PRE(formatted != POWERCUT_FULL);
  RC_ASSERT(formatted == POWERCUT_OK);
  RC_ASSERT(table.Open() == POWERCUT_OK);
  std::map<uint64_t, uint64_t> model;
  uint64_t serial = 0;
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  std::mt19937_64 random(seed);
  for (int i = 0; i < operations; ++i) {
    const uint64_t key = 1 + random() % 300;
    const bool present = model.count(key) != 0;
    const uint64_t dice = random() % 200;
    if (dice < 100 && !present) {
      const powercut_status status = table.Insert(key, ++serial);
      RC_ASSERT(status == POWERCUT_OK || status == POWERCUT_FULL);
      if (status == POWERCUT_OK) model[key] = serial;
    } else if (dice < 140) {
      RC_ASSERT(table.Update(key, ++serial) == (present ? POWERCUT_OK : POWERCUT_NOT_FOUND));
      if (present) model[key] = serial;
    } else if (dice < 194) {
      RC_ASSERT(table.Erase(key) == (present ? POWERCUT_OK : POWERCUT_NOT_FOUND));
      model.erase(key);
    } else if (dice < 196) {
      const powercut_status status = table.Maintain("expand");
      RC_ASSERT(status == POWERCUT_OK || status == POWERCUT_FULL);
    } else if (dice < 198) {
      const powercut_status status = table.Maintain("shrink");
      RC_ASSERT(status == POWERCUT_OK || status == POWERCUT_FULL);
    } else {
      if (random() % 2 == 0) table.Close();
      RC_ASSERT(table.Cut() == POWERCUT_OK);
    }
    RC_ASSERT(table.Lookup(key) == (model.count(key) != 0 ? table.Value(model[key]) : ""));
  }
  RC_ASSERT(table.Cut() == POWERCUT_OK);
  std::multimap<std::string, std::string> expected;
  for (const auto& [key, value] : model) expected.emplace(table.Key(key), table.Value(value));
  RC_ASSERT(table.Contents() == expected);
  RC_ASSERT(table.Damage() == "");
}

TEST(LevelModel, AgreesWithAMap) {
  EXPECT_TRUE(rc::check("random operations", [] { RunAgainstMap(4 << 20, 600); }));
}

// Resizes run out of room, with an interim level left attached.
TEST(LevelModel, AgreesWithAMapInAPoolThatIsTooSmall) {
  EXPECT_TRUE(rc::check("random operations", [] { RunAgainstMap(*rc::gen::inRange(3, 12) * 4096, 600); }));
}

// hashes=halves: an item of a level's first half is there by its first hash, one of the second half by its second.
TEST(LevelHashes, EachAddressesItsHalf) {
  Options options;
  const powercut_option halves{"hashes", "halves"}, whole{"hashes", "whole"};
  powercut_config config = ConfigOf("hardened", &halves, 1, 16, 15);
  ASSERT_EQ(Table::ParseOptions(config, &options), POWERCUT_OK);
  std::vector<uint8_t> memory((1 << 20) + 4096);
  powercut_pool pool{};
  pool.size = 1 << 20;
  pool.base = memory.data() + (4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096);
  ASSERT_EQ(Table::Format(pool, options), POWERCUT_OK);
  Table* opened = nullptr;
  ASSERT_EQ(Table::Open(pool, options, &opened), POWERCUT_OK);
  const std::unique_ptr<Table> table(opened);
  for (uint64_t i = 1; i <= 500; ++i) {  // expands several times
    Item item;
    std::memcpy(item.bytes, &i, sizeof i);
    ASSERT_EQ(table->Insert(item), POWERCUT_OK);
  }
  uint64_t items[2] = {0, 0};
  for (int at = 0; at < table->level_count(); ++at) {
    const Level& level = table->level(at);
    const uint64_t half = level.buckets() / 2;
    for (uint64_t b = 0; b < level.buckets(); ++b) {
      uint8_t* bucket = level.base + b * table->geometry().stride;
      for (uint32_t slot = 0; slot < table->geometry().slots; ++slot) {
        if ((table->geometry().LoadTokens(bucket) >> slot & 1) == 0) continue;
        const int h = b < half ? 0 : 1;
        const Probe probe = HashKey(table->geometry().Slot(bucket, slot), /*wide=*/true);
        EXPECT_EQ(probe.hash[h] % half + (h == 0 ? 0 : half), b);
        ++items[h];
      }
    }
  }
  EXPECT_EQ(items[0] + items[1], 500);
  EXPECT_GT(std::min(items[0], items[1]), 150);
  // The other way of addressing finds nothing in this pool, so it is refused.
  config.options = &whole;
  ASSERT_EQ(Table::ParseOptions(config, &options), POWERCUT_OK);
  Table* wrong = nullptr;
  EXPECT_EQ(Table::Open(pool, options, &wrong), POWERCUT_CORRUPT);
}

}  // namespace
}  // namespace powercut::level

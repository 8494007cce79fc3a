// Level hashing against std::map: random operations, every option, with resizes and reopens in between.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <random>

#include "targets/common/test_table.h"

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
                    {"movement", one_of({"eager", "late"})}};
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

}  // namespace
}  // namespace powercut::level

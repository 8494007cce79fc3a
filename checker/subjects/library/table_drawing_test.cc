#include "checker/subjects/library/table_drawing.h"

#include <gmock/gmock.h>

namespace powercut {
namespace {

using Cell = DrawnCells::Cell;

Cell item(uint64_t bucket, uint32_t slot, const std::string& key, const std::string& value, uint64_t offset = 0) {
  return {POWERCUT_CELL_ITEM, slot, bucket, offset, 16, "buckets", "", "", key, value};
}

Cell empty(uint64_t bucket, uint32_t slot) {
  return {POWERCUT_CELL_EMPTY, slot, bucket, bucket * 64, 16, "buckets", "", "", "", ""};
}

std::vector<uint64_t> buckets_of(const Json& drawing) {
  std::vector<uint64_t> out;
  for (const Json& bucket : drawing["groups"].at(0)["buckets"]) out.push_back(bucket["bucket"]);
  return out;
}

// Two hundred buckets of one slot each, all empty.
std::vector<Cell> plain() {
  std::vector<Cell> out;
  for (uint64_t b = 0; b < 200; ++b) out.push_back(empty(b, 0));
  return out;
}

TEST(TableDrawing, ShowsWhatDiffersAndItsNeighbours) {
  std::vector<Cell> before = plain(), after = plain();
  before[7] = item(7, 0, "k", "v");
  const Json drawing = drawing_json(before, &after, History(), {});
  EXPECT_THAT(buckets_of(drawing), ::testing::ElementsAre(0, 1, 2, 3, 4, 6, 7, 8)) << "eight at least";
  const Json& cell = drawing["groups"][0]["buckets"][6]["cells"][0];
  EXPECT_EQ(cell["name"], "0");
  EXPECT_EQ(cell["before"]["kind"], "item");
  EXPECT_EQ(cell["before"]["write"], 0) << "nobody wrote that value";
  EXPECT_EQ(cell["after"]["kind"], "empty");
  EXPECT_EQ(drawing["left_out"], 192);
  EXPECT_EQ(drawing["differing_left_out"], 0);
}

TEST(TableDrawing, SaysHowManyDifferencesItLeavesOut) {
  std::vector<Cell> before = plain(), after = plain();
  for (uint64_t b = 0; b < 100; ++b) before[b] = item(b, 0, "k", "v");
  const Json drawing = drawing_json(before, &after, History(), {});
  EXPECT_EQ(buckets_of(drawing).size(), 64u);
  EXPECT_EQ(drawing["differing_left_out"], 36);
}

TEST(TableDrawing, ShowsTheKeyAndWhatTheCutTouchedWhereNothingDiffers) {
  std::vector<Cell> cells = plain();
  cells[50] = item(50, 0, "key", "v", 50 * 64);
  const Json drawing = drawing_json(cells, &cells, History(), {.lines = {100}, .key = "key"});
  EXPECT_THAT(buckets_of(drawing), ::testing::ElementsAre(0, 1, 49, 50, 51, 99, 100, 101));
}

TEST(TableDrawing, ShowsPartsOfACountAndWhatDoesNotCount) {
  const std::string five("\5\0\0\0\0\0\0\0", 8), minus(8, '\xff');
  std::vector<Cell> cells = {item(0, 0, "k", five), item(0, 1, "k", minus), item(0, 2, "k", five)};
  cells[2].kind = POWERCUT_CELL_EMPTY;
  const Json drawn =
      drawing_json(cells, &cells, History({.buffered = true, .counts = true}), {.lines = {}, .key = "k"});
  const Json& row = drawn["groups"][0]["buckets"][0]["cells"];
  EXPECT_EQ(row[0]["after"]["count"], 5);
  EXPECT_EQ(row[1]["after"]["count"], -1);
  EXPECT_FALSE(row[0]["after"].contains("write")) << "nobody wrote a part of a sum";
  EXPECT_EQ(row[2]["after"]["kind"], "empty");
  EXPECT_EQ(row[2]["after"]["key"], row[0]["after"]["key"]);
  EXPECT_FALSE(
      drawing_json({empty(0, 0)}, nullptr, History(), {})["groups"][0]["buckets"][0]["cells"][0]["before"].contains(
          "key"));
}

TEST(TableDrawing, HasNoAfterWhereThereIsNoTable) {
  const std::vector<Cell> before = {item(3, 0, "key", "v")};
  const Json drawing = drawing_json(before, nullptr, History(), {.lines = {}, .key = "key"});
  EXPECT_EQ(drawing["after"], false);
  EXPECT_TRUE(drawing["groups"][0]["buckets"][0]["cells"][0]["after"].is_null());
}

int report(powercut_cell_fn fn, void* context, const uint8_t* at) {
  const powercut_cell cell = {.kind = POWERCUT_CELL_ITEM,
                              .slot = 2,
                              .bucket = 9,
                              .group = "top level",
                              .label = nullptr,
                              .text = "remark",
                              .at = at,
                              .size = 8,
                              .key = {"key", 3},
                              .value = {"value", 5}};
  return fn(context, &cell);
}

const uint8_t pool[64] = {};

TEST(TableDrawing, KeepsCellsAsTheyWereReported) {
  DrawnCells drawn;
  const auto draw = [](powercut_table*, powercut_cell_fn fn, void* context) {
    report(fn, context, pool + 32);
    report(fn, context, pool + 40);
    return POWERCUT_OK;
  };
  EXPECT_EQ(drawn.draw(draw, nullptr, pool), POWERCUT_OK);
  const std::vector<Cell> cells = drawn.cells();
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[1].offset, 40u);
  EXPECT_EQ(cells[1].bucket, 9u);
  EXPECT_EQ(cells[1].slot, 2u);
  EXPECT_EQ(cells[1].group, "top level");
  EXPECT_EQ(cells[1].text, "remark");
  EXPECT_EQ(cells[1].key, "key");
  EXPECT_EQ(cells[1].value, "value");
}

TEST(TableDrawing, AsksTheTargetToStopWhenThereIsNoRoom) {
  DrawnCells drawn;
  const auto draw = [](powercut_table*, powercut_cell_fn fn, void* context) {
    for (int i = 0; i < 10'000'000; ++i) {
      if (report(fn, context, pool) != 0) return POWERCUT_OK;
    }
    return POWERCUT_CORRUPT;
  };
  EXPECT_EQ(drawn.draw(draw, nullptr, pool), POWERCUT_OK);
  EXPECT_TRUE(drawn.cut_short());
  EXPECT_GT(drawn.cells().size(), 100'000u);
}

}  // namespace
}  // namespace powercut

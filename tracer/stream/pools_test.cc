#include "tracer/stream/pools.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <vector>

namespace powercut {
namespace {

using Table = std::unique_ptr<powercut_ranges>;

// The pool and offset at each address; an address without an entry lies in no pool.
using Model = std::map<uint64_t, std::pair<uint32_t, uint64_t>>;

TEST(Ranges, MapReplacesAndUnmapSplits) {
  const Table table = std::make_unique<powercut_ranges>();
  ASSERT_EQ(powercut_ranges_map(table.get(), 1000, 100, 1, 0), 0);
  EXPECT_EQ(table->low, 1000u);
  EXPECT_EQ(table->span, 100u);
  ASSERT_EQ(powercut_ranges_map(table.get(), 1040, 20, 2, 500), 0);
  ASSERT_EQ(table->count, 3u);
  EXPECT_EQ(powercut_ranges_at(table.get(), 1070)->offset, 60u);
  EXPECT_EQ(powercut_ranges_unmap(table.get(), 1050, 20), 20u);
  EXPECT_EQ(powercut_ranges_at(table.get(), 1055)->begin, 1070u);
  EXPECT_EQ(powercut_ranges_at(table.get(), 1070)->offset, 70u);
  EXPECT_EQ(powercut_ranges_at(table.get(), 1100), nullptr);
  EXPECT_EQ(powercut_ranges_unmap(table.get(), 0, 5000), 80u);
  EXPECT_EQ(table->span, 0u);
}

TEST(Ranges, NextGivesEachPieceWithItsPlaceInTheFile) {
  const Table table = std::make_unique<powercut_ranges>();
  powercut_ranges_map(table.get(), 100, 10, 3, 1000);
  powercut_ranges_map(table.get(), 110, 10, 4, 0);
  powercut_ranges_map(table.get(), 130, 10, 3, 500);
  uint64_t address = 104;
  std::vector<std::vector<uint64_t>> pieces;
  for (powercut_range piece; powercut_ranges_next(table.get(), &address, 135, &piece) != 0;) {
    pieces.push_back({piece.begin, piece.end, piece.pool, piece.offset});
  }
  EXPECT_EQ(pieces, (std::vector<std::vector<uint64_t>>{{104, 110, 3, 1004}, {110, 120, 4, 0}, {130, 135, 3, 500}}));
  powercut_range piece;
  address = 120;
  EXPECT_EQ(powercut_ranges_next(table.get(), &address, 130, &piece), 0);
  address = 105;
  EXPECT_EQ(powercut_ranges_next(table.get(), &address, 105, &piece), 0);
}

TEST(Ranges, ClipIsThePartInTheFirstRange) {
  const Table table = std::make_unique<powercut_ranges>();
  powercut_ranges_map(table.get(), 100, 10, 0, 0);
  powercut_ranges_map(table.get(), 120, 10, 0, 10);
  uint64_t begin = 0;
  EXPECT_EQ(powercut_ranges_clip(table.get(), 90, 10, &begin), 0u);
  EXPECT_EQ(powercut_ranges_clip(table.get(), 90, 11, &begin), 1u);
  EXPECT_EQ(begin, 100u);
  EXPECT_EQ(powercut_ranges_clip(table.get(), 95, 100, &begin), 10u);
  EXPECT_EQ(powercut_ranges_clip(table.get(), 110, 100, &begin), 10u);
  EXPECT_EQ(begin, 120u);
  EXPECT_EQ(powercut_ranges_clip(table.get(), 130, 100, &begin), 0u);
}

TEST(Ranges, AgreesWithAMapOfBytes) {
  std::mt19937 random(7);
  const auto draw = [&](uint64_t most) { return std::uniform_int_distribution<uint64_t>(0, most)(random); };
  const Table table = std::make_unique<powercut_ranges>();
  Model model;
  for (int round = 0; round < 2000; ++round) {
    const uint64_t begin = draw(300), length = draw(60);
    if (draw(1) == 0) {
      uint64_t gone = 0;
      for (uint64_t at = begin; at < begin + length; ++at) gone += model.erase(at);
      ASSERT_EQ(powercut_ranges_unmap(table.get(), begin, length), gone);
    } else {
      const auto pool = static_cast<uint32_t>(draw(2));
      const uint64_t offset = draw(1000);
      ASSERT_EQ(powercut_ranges_map(table.get(), begin, length, pool, offset), 0);
      for (uint64_t i = 0; i < length; ++i) model[begin + i] = {pool, offset + i};
    }
    for (uint64_t at = 0; at < 370; ++at) {
      const powercut_range* range = powercut_ranges_at(table.get(), at);
      const bool inside = range != nullptr && range->begin <= at;
      ASSERT_EQ(inside, model.contains(at)) << at;
      if (!inside) continue;
      ASSERT_EQ(range->pool, model[at].first);
      ASSERT_EQ(range->offset + (at - range->begin), model[at].second);
      ASSERT_LT(at - table->low, table->span);
    }
  }
}

TEST(Ranges, AFullTableRefuses) {
  const Table table = std::make_unique<powercut_ranges>();
  for (uint64_t i = 0; i < kPowercutMostRanges; ++i) {
    ASSERT_EQ(powercut_ranges_map(table.get(), i * 100, 50, 0, 0), 0);
  }
  EXPECT_EQ(powercut_ranges_map(table.get(), 50, 10, 0, 0), -1);
  EXPECT_EQ(powercut_ranges_map(table.get(), 0, 50, 3, 0), 0) << "in the place of another";
  EXPECT_EQ(powercut_ranges_unmap(table.get(), 110, 10), 10u);
  EXPECT_EQ(powercut_ranges_at(table.get(), 105)->end, 110u) << "what cannot be kept apart is no longer watched";
  EXPECT_EQ(powercut_ranges_at(table.get(), 125)->begin, 200u);
}

}  // namespace
}  // namespace powercut

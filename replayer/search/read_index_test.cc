#include "replayer/search/read_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace powercut {
namespace {

TEST(ReadIndex, CodesAreGroups) {
  for (const Group group :
       {Group{GroupKind::kKey, 0}, Group{GroupKind::kRegion, 7}, Group{GroupKind::kTable, (1u << 30) - 1}}) {
    EXPECT_EQ(group_of(code_of(group)), group);
  }
  EXPECT_LT(code_of({GroupKind::kKey, 1000}), code_of({GroupKind::kRegion, 0}));  // kinds first
}

TEST(ReadIndex, KnowsWhoHasReadWhichBytes) {
  ReadIndex index;
  ReadIndex::Reads one, two;
  EXPECT_EQ(index.find(5), nullptr);
  index.note({GroupKind::kKey, 1}, &one, 5, 0xff);
  index.note({GroupKind::kKey, 2}, &two, 5, uint64_t{0xff} << 56);
  index.note({GroupKind::kKey, 1}, &one, 6, 1);
  const ReadIndex::Readers* readers = index.find(5);
  ASSERT_NE(readers, nullptr);
  EXPECT_EQ(readers->any, 0xff | uint64_t{0xff} << 56);
  ASSERT_EQ(readers->groups.size(), 2u);
  EXPECT_EQ(readers->groups[0].group, code_of({GroupKind::kKey, 1}));
  EXPECT_EQ(readers->groups[0].mask(), 0xffu);
  EXPECT_EQ(readers->groups[1].mask(), uint64_t{0xff} << 56);
  EXPECT_EQ(index.find(6)->groups.size(), 1u);
}

TEST(ReadIndex, WhatAGroupReadOnceItMayReadAgain) {
  ReadIndex index;
  ReadIndex::Reads reads;
  index.note({GroupKind::kRegion, 3}, &reads, 5, 0x0f);
  index.note({GroupKind::kRegion, 3}, &reads, 5, 0xf0);
  index.note({GroupKind::kRegion, 3}, &reads, 5, 0x01);
  const ReadIndex::Readers* readers = index.find(5);
  ASSERT_EQ(readers->groups.size(), 1u);
  EXPECT_EQ(readers->groups[0].mask(), 0xffu);
  EXPECT_EQ(readers->any, 0xffu);
}

// The index must find every read, in whatever order lines come, again and again.
TEST(ReadIndex, AGroupMayReadManyLines) {
  ReadIndex index;
  ReadIndex::Reads reads;
  std::vector<uint64_t> lines(100);
  std::iota(lines.begin(), lines.end(), 1000);
  std::mt19937 random(1);
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (bit % 2 == 1) std::shuffle(lines.begin(), lines.end(), random);
    for (uint64_t line : lines) index.note({GroupKind::kKey, 1}, &reads, line, uint64_t{1} << bit);
    for (uint64_t line : lines) {
      const ReadIndex::Readers* readers = index.find(line);
      ASSERT_EQ(readers->groups.size(), 1u);
      ASSERT_EQ(readers->groups[0].mask(), ~uint64_t{0} >> (63 - bit)) << line;
    }
  }
}

// However many groups read a line, each of them is found when a byte that it read changes.
TEST(ReadIndex, ALineThatAllReadLosesNobody) {
  constexpr uint32_t kMany = 10000;
  ReadIndex index;
  std::vector<ReadIndex::Reads> reads(kMany);
  for (uint32_t i = 0; i < kMany; ++i) index.note({GroupKind::kKey, i}, &reads[i], 5, uint64_t{1} << (i % 64));
  const auto hit = [&](uint32_t group, uint64_t byte) {
    const ReadIndex::Readers* readers = index.find(5);
    if (readers->everyone) return (readers->any >> byte & 1) != 0;
    return std::any_of(readers->groups.begin(), readers->groups.end(), [&](const ReadIndex::Reader& reader) {
      return reader.group == code_of({GroupKind::kKey, group}) && (reader.mask() >> byte & 1) != 0;
    });
  };
  for (uint32_t i = 0; i < kMany; ++i) ASSERT_TRUE(hit(i, i % 64)) << i;
  // Groups must also be found by bytes that they read from now on.
  index.note({GroupKind::kKey, 3}, &reads[3], 5, uint64_t{1} << 50);
  index.note({GroupKind::kKey, kMany - 1}, &reads[kMany - 1], 5, uint64_t{1} << 51);
  EXPECT_TRUE(hit(3, 50));
  EXPECT_TRUE(hit(kMany - 1, 51));
}

}  // namespace
}  // namespace powercut

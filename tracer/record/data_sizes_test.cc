#include "tracer/record/data_sizes.h"

#include <gtest/gtest.h>

#include <set>

#include "tracer/record/key_bytes.h"

namespace powercut {
namespace {

TEST(DataSizes, OneSizeIsEveryKeysAndEveryValues) {
  const DataSizes sizes{{16, 16}, {15, 15}, 7};
  EXPECT_FALSE(sizes.are_mixed());
  for (uint64_t number = 1; number < 100; ++number) {
    EXPECT_EQ(sizes.key_of(number), key_bytes(number, 16));
    EXPECT_EQ(sizes.value_of(number), value_bytes(number, 15));
  }
}

TEST(DataSizes, EachSizeOfARangeIsDrawnAndStays) {
  const DataSizes sizes{{8, 24}, {1, 40}, 7};
  EXPECT_TRUE(sizes.are_mixed());
  std::set<size_t> keys, values;
  for (uint64_t number = 1; number < 2000; ++number) {
    keys.insert(sizes.key_of(number).size());
    values.insert(sizes.value_of(number).size());
    EXPECT_EQ(sizes.key_of(number), sizes.key_of(number));
    EXPECT_EQ(key_id(sizes.key_of(number)), number) << "an id is found in a key of any size";
  }
  EXPECT_EQ(keys.size(), 17u);
  EXPECT_EQ(*keys.begin(), 8u);
  EXPECT_EQ(values.size(), 40u);
  EXPECT_EQ(*values.begin(), 1u);
}

TEST(DataSizes, AnotherSeedDrawsOtherSizes) {
  const DataSizes one{{8, 64}, {1, 400}, 1}, two{{8, 64}, {1, 400}, 2};
  int others = 0;
  for (uint64_t number = 1; number <= 100; ++number) {
    others += one.key_of(number).size() != two.key_of(number).size() ? 1 : 0;
    others += one.value_of(number).size() != two.value_of(number).size() ? 1 : 0;
  }
  EXPECT_GT(others, 150);
}

TEST(DataSizes, AStepMaySayTheSizeOfItsValue) {
  const DataSizes sizes{{16, 16}, {1, 400}, 7};
  EXPECT_EQ(sizes.value_of(5, 33), value_bytes(5, 33));
}

TEST(DataSizes, ProbesWriteTheLongestValueAndThenTheShortest) {
  const DataSizes sizes{{16, 16}, {3, 400}, 7};
  EXPECT_EQ(sizes.first_probe().size(), 400u);
  EXPECT_EQ(sizes.second_probe().size(), 3u);
}

}  // namespace
}  // namespace powercut

// Tests beyond the conformance suite: the bytes of a bucket, and that a refused resize leaves nothing behind.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "targets/common/test_table.h"
#include "targets/common/token_bucket.h"

namespace powercut::pfht {
namespace {

using test::TestTable;

struct Shape {
  uint32_t key_size, value_size, slots;
};

class Buckets : public testing::TestWithParam<Shape> {};

// Tokens and slots share no byte, and stay within the stride.
TEST_P(Buckets, DoNotOverlap) {
  const auto [key_size, value_size, slots] = GetParam();
  const TokenBucket bucket(key_size, value_size, slots);
  alignas(64) uint8_t bytes[1024] = {};
  ASSERT_LE(bucket.stride(), sizeof bytes);
  std::vector<int> owner(sizeof bytes, -1);
  bucket.StoreTokens(bytes, bucket.full());
  for (size_t i = 0; i < sizeof bytes; ++i) {
    if (bytes[i] == 0) continue;
    EXPECT_LT(i, bucket.stride());
    owner[i] = static_cast<int>(slots);
  }
  for (uint32_t slot = 0; slot < slots; ++slot) {
    const auto begin = static_cast<size_t>(bucket.Slot(bytes, slot) - bytes);
    ASSERT_LE(begin + bucket.item_size(), bucket.stride());
    for (size_t i = begin; i < begin + bucket.item_size(); ++i) {
      EXPECT_EQ(owner[i], -1) << "byte " << i << " of slot " << slot;
      owner[i] = static_cast<int>(slot);
    }
  }
  EXPECT_EQ(bucket.LoadTokens(bytes), bucket.full());
}

// A value of 8 bytes can be overwritten by one store in every slot of every bucket.
TEST(Buckets, ValuesOf8BytesAreAligned) {
  for (uint32_t slots : {1u, 4u, 8u, 16u}) {
    const TokenBucket bucket(8, 8, slots);
    EXPECT_EQ(bucket.stride() % 8, 0u);
    alignas(64) uint8_t bytes[512];
    for (uint32_t slot = 0; slot < slots; ++slot) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(bucket.Slot(bytes, slot)) % 8, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Buckets,
                         testing::Values(Shape{8, 8, 1}, Shape{8, 8, 4}, Shape{8, 8, 8}, Shape{8, 8, 16},
                                         Shape{16, 15, 1}, Shape{16, 15, 4}, Shape{16, 15, 8}, Shape{16, 15, 16}));

// The smaller table and the nodes of its stash are freed again; Damage() would see a block that nobody reaches.
TEST(Resize, ARefusedShrinkChangesNothing) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", {{"buckets", "16"}, {"stash", "25"}}, 8, 8,
                  1 << 16);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  for (uint64_t key = 1; key <= 60; ++key) ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);
  const std::multimap<std::string, std::string> before = table.Contents();
  ASSERT_EQ(table.Maintain("shrink"), POWERCUT_FULL);
  EXPECT_EQ(table.Contents(), before);
  EXPECT_EQ(table.Damage(), "");
}

}  // namespace
}  // namespace powercut::pfht

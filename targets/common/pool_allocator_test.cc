#include "targets/common/pool_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace powercut {
namespace {

class PoolAllocatorTest : public testing::Test {
 protected:
  static constexpr uint64_t kSize = 64 << 10;
  PoolAllocatorTest() : memory_(kSize + 4096) {
    const auto at = reinterpret_cast<uintptr_t>(memory_.data());
    pool_ = {memory_.data() + (4096 - at % 4096) % 4096, kSize};
    Open().Format();
  }
  PoolAllocator Open() const { return PoolAllocator(pool_, {.begin = 128, .unit = 256}); }
  static std::map<uint64_t, uint64_t> Blocks(PoolAllocator& allocator) {
    std::map<uint64_t, uint64_t> blocks;
    EXPECT_TRUE(allocator.ForEach([&](uint64_t offset, uint64_t size) { blocks[offset] = size; }));
    return blocks;
  }

  std::vector<uint8_t> memory_;
  powercut_pool pool_{};
};

TEST_F(PoolAllocatorTest, BlocksAreAlignedAndInsideThePool) {
  PoolAllocator allocator = Open();
  const uint64_t offset = allocator.Allocate(257);
  EXPECT_EQ(offset % 256, 0u);
  EXPECT_TRUE(allocator.Contains(offset, 512));
  EXPECT_EQ(Blocks(allocator), (std::map<uint64_t, uint64_t>{{offset, 512}}));
}

TEST_F(PoolAllocatorTest, RefusesWhatDoesNotFit) {
  PoolAllocator allocator = Open();
  EXPECT_EQ(allocator.Allocate(0), 0u);
  EXPECT_EQ(allocator.Allocate(kSize), 0u);
  EXPECT_EQ(allocator.Allocate(~uint64_t{0} - 1000), 0u);
  while (allocator.Allocate(1000) != 0) {
  }
  EXPECT_EQ(allocator.Allocate(1000), 0u);
}

// Blocks never overlap, and what was freed is found again, with and without a reopen in between.
TEST_F(PoolAllocatorTest, RandomAllocationsNeverOverlap) {
  PoolAllocator allocator = Open();
  std::map<uint64_t, uint64_t> model;
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) {
    if (i % 100 == 99) {
      allocator = Open();
      ASSERT_TRUE(allocator.Sweep([&](uint64_t offset) { return model.count(offset) != 0; }));
    }
    if (random() % 2 == 0 && !model.empty()) {
      auto block = model.begin();
      std::advance(block, random() % model.size());
      allocator.Free(block->first);
      model.erase(block);
    } else {
      const uint64_t size = 1 + random() % 3000;
      const uint64_t offset = allocator.Allocate(size);
      if (offset == 0) continue;
      const uint64_t rounded = (size + 255) / 256 * 256;
      const auto next = model.lower_bound(offset);
      if (next != model.end()) ASSERT_LE(offset + rounded, next->first);
      if (next != model.begin()) {
        const auto before = std::prev(next);
        ASSERT_LE(before->first + before->second, offset);
      }
      model[offset] = rounded;
    }
    ASSERT_EQ(Blocks(allocator), model);
  }
}

TEST_F(PoolAllocatorTest, SweepFreesWhatNobodyReachesAndCanBeRepeated) {
  PoolAllocator allocator = Open();
  const uint64_t kept = allocator.Allocate(300), lost = allocator.Allocate(300), last = allocator.Allocate(300);
  for (int i = 0; i < 2; ++i) {
    PoolAllocator again = Open();
    ASSERT_TRUE(again.Sweep([&](uint64_t offset) { return offset != lost; }));
    EXPECT_EQ(Blocks(again), (std::map<uint64_t, uint64_t>{{kept, 512}, {last, 512}}));
  }
  PoolAllocator again = Open();
  ASSERT_TRUE(again.Sweep([&](uint64_t offset) { return offset != lost; }));
  EXPECT_EQ(again.Allocate(300), lost);
}

TEST_F(PoolAllocatorTest, ADamagedTableIsReported) {
  PoolAllocator allocator = Open();
  allocator.Allocate(300);
  auto* entries = reinterpret_cast<uint32_t*>(pool_.base + 128 + 64);
  entries[0] = 1000000;
  EXPECT_FALSE(allocator.Sweep([](uint64_t) { return true; }));
}

}  // namespace
}  // namespace powercut

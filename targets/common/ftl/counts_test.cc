// The layers without power cuts: against std::map, on flash that keeps pages and on flash that only counts; what
// operations cost; and what Table 1 makes of that.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <vector>

#include "targets/common/ftl/block_mapped.h"
#include "targets/common/ftl/latencies.h"
#include "targets/common/ftl/page_mapped.h"
#include "targets/common/ftl/raw_nand.h"

namespace powercut::ftl {
namespace {

constexpr uint32_t kPage = 64;

void ExpectSame(const Counts& a, const Counts& b) {
  EXPECT_EQ(a.host_reads, b.host_reads);
  EXPECT_EQ(a.host_writes, b.host_writes);
  EXPECT_EQ(a.trims, b.trims);
  EXPECT_EQ(a.page_reads, b.page_reads);
  EXPECT_EQ(a.page_programs, b.page_programs);
  EXPECT_EQ(a.moved, b.moved);
  EXPECT_EQ(a.journal, b.journal);
  EXPECT_EQ(a.block_erases, b.block_erases);
}

// Random writes, trims and runs of pages; the same on both media.
template <template <typename> typename Layer>
void Agrees(uint32_t pages, const Settings& settings, uint64_t seed) {
  const Geometry geometry = Layer<RawNand>::GeometryOf(settings, pages, kPage);
  ASSERT_TRUE(Layer<RawNand>::Fits(geometry, settings));
  struct alignas(POWERCUT_FLASH_LINE) Line {
    uint8_t bytes[POWERCUT_FLASH_LINE];
  };
  std::vector<Line> bytes(geometry.pages() + geometry.blocks, Line{});
  powercut_pool pool{};
  pool.base = bytes[0].bytes;
  pool.size = bytes.size() * sizeof(Line);
  RawNand nand(pool, geometry);
  CountingNand counting(geometry);
  Layer<RawNand> layer(&nand, settings);
  Layer<CountingNand> counted(&counting, settings);
  ASSERT_EQ(layer.Format(), Status::kOk);
  ASSERT_EQ(counted.Format(), Status::kOk);
  std::map<uint32_t, uint64_t> model;
  std::mt19937_64 random(seed);
  uint32_t page = 0;
  for (int i = 0; i < 3000; ++i) {
    page = random() % 4 == 0 ? static_cast<uint32_t>(random() % settings.logical) : (page + 1) % settings.logical;
    std::array<uint64_t, kPage / sizeof(uint64_t)> data{};
    if (random() % 5 == 0) {
      const Status expected = model.erase(page) != 0 ? Status::kOk : Status::kAbsent;
      ASSERT_EQ(layer.Trim(page), expected);
      ASSERT_EQ(counted.Trim(page), expected);
    } else {
      data.fill(random());
      model[page] = data[0];
      ASSERT_EQ(layer.Write(page, data.data()), Status::kOk);
      ASSERT_EQ(counted.Write(page, nullptr), Status::kOk);
    }
    const auto there = static_cast<uint32_t>(random() % settings.logical);
    const auto known = model.find(there);
    const Status expected = known == model.end() ? Status::kAbsent : Status::kOk;
    ASSERT_EQ(layer.Read(there, data.data()), expected);
    ASSERT_EQ(counted.Read(there, nullptr), expected);
    if (known != model.end()) ASSERT_EQ(data[0], known->second);
  }
  const Counts before = layer.counts();
  ExpectSame(before, counted.counts());
  EXPECT_GT(before.moved, 0u);
  uint64_t erases = 0;
  for (uint32_t block = 0; block < geometry.blocks; ++block) {
    erases += nand.Erases(block);
    EXPECT_EQ(nand.Erases(block), counting.Erases(block));
    EXPECT_EQ(layer.erases(block), nand.Erases(block));
  }
  EXPECT_EQ(before.block_erases, erases);
  // Opened again it holds the same.
  Layer<RawNand> again(&nand, settings);
  ASSERT_EQ(again.Open(), Status::kOk);
  for (uint32_t i = 0; i < settings.logical; ++i) {
    const auto known = model.find(i);
    std::array<uint64_t, kPage / sizeof(uint64_t)> data{};
    ASSERT_EQ(again.Read(i, data.data()), known == model.end() ? Status::kAbsent : Status::kOk) << i;
    if (known != model.end()) ASSERT_EQ(data[0], known->second);
  }
}

TEST(Layers, AgreeWithAMapOnBothMedia) {
  for (const bool hardened : {false, true}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const Settings settings = {
          .logical = 20, .blocks = 9, .hardened = hardened, .checkpoint = false, .bug = Bug::kNone};
      Agrees<PageMapped>(5, settings, seed);
      Agrees<BlockMapped>(4, settings, seed);
    }
  }
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Agrees<PageMapped>(5, {.logical = 20, .blocks = 9, .hardened = true, .checkpoint = true, .bug = Bug::kNone}, seed);
  }
}

// 2.1: "only the first i pages" are copied to a new block, later "only the pages i + 1 to j - 1".
TEST(BlockMapped, IsLazy) {
  const Settings settings = {.logical = 16, .blocks = 7, .hardened = false, .checkpoint = false, .bug = Bug::kNone};
  CountingNand nand({.blocks = 7, .pages_per_block = 8, .page_size = kPage});
  BlockMapped<CountingNand> layer(&nand, settings);
  ASSERT_EQ(layer.Format(), Status::kOk);
  for (uint32_t page = 0; page < 16; ++page) layer.Write(page, nullptr);
  EXPECT_EQ(layer.counts().page_programs, 16u);  // pages in a row cost nothing else
  EXPECT_EQ(layer.counts().moved, 0u);
  layer.Write(3, nullptr);
  EXPECT_EQ(layer.counts().moved, 3u);
  // Semi-random: pages of another block do not disturb.
  layer.Write(8, nullptr);
  EXPECT_EQ(layer.counts().moved, 3u);
  layer.Write(6, nullptr);
  EXPECT_EQ(layer.counts().moved, 3u + 2u);
  layer.Write(9, nullptr);
  layer.Write(7, nullptr);
  EXPECT_EQ(layer.counts().moved, 3u + 2u);
  EXPECT_EQ(layer.counts().block_erases, 0u);
  // "this would not be possible if j were less than i": the whole block is copied, erased, and copied back.
  layer.Write(8, nullptr);
  EXPECT_EQ(layer.counts().moved, 3u + 2u + 7u);
  EXPECT_EQ(layer.counts().block_erases, 1u);
}

TEST(PageMapped, CleansAsGreedyCollectionDoes) {
  const Settings settings = {.logical = 16384, .blocks = 160, .hardened = true, .checkpoint = false, .bug = Bug::kNone};
  const Geometry geometry = PageMapped<CountingNand>::GeometryOf(settings, 128, 4096);
  CountingNand nand(geometry);
  PageMapped<CountingNand> layer(&nand, settings);
  ASSERT_EQ(layer.Format(), Status::kOk);
  std::mt19937_64 random(1);
  for (int i = 0; i < 300'000; ++i)
    ASSERT_EQ(layer.Write(static_cast<uint32_t>(random() % 16384), nullptr), Status::kOk);
  const Counts& counts = layer.counts();
  EXPECT_EQ(counts.page_programs, counts.host_writes + counts.moved + counts.journal);
  // One of 1.25 pages is live. Uniform writes that clean the oldest block cost 1.25 / (1.25 + W(-1.25 exp(-1.25))) =
  // 2.7 programs each; greedy cleaning costs less, and no cleaning less than what the free share gains at best.
  const double amplification = static_cast<double>(counts.page_programs) / static_cast<double>(counts.host_writes);
  EXPECT_GT(amplification, 1.5);
  EXPECT_LT(amplification, 2.7);
  // Wear is even: the least worn free block is next.
  uint64_t least = ~uint64_t{0}, most = 0;
  for (uint32_t block = layer.first_block(); block < geometry.blocks; ++block) {
    least = std::min(least, nand.Erases(block));
    most = std::max(most, nand.Erases(block));
  }
  EXPECT_LT(most, 2 * least + 10);
}

TEST(Latencies, AreThoseOfTable1) {
  const Device& mlc = kDevices[0];
  EXPECT_DOUBLE_EQ(mlc.BlockRead(), 30 * 65e-6);
  EXPECT_DOUBLE_EQ(mlc.BlockWrite(), 50 * 110e-6);
  EXPECT_NEAR(mlc.SequentialRead(), 24.1e-6, 1e-7);
  EXPECT_NEAR(kDevices[2].SequentialWrite(), 24.1e-6, 1e-7);
  Counts counts;
  counts.page_reads = 3;
  counts.page_programs = 2;
  counts.moved = 1;
  counts.block_erases = 1;
  EXPECT_NEAR(TimeOf(mlc, counts), 2 * 65e-6 + 110e-6 + 24.094e-6 + 117.029e-6 + 1.5e-3, 1e-8);
}

}  // namespace
}  // namespace powercut::ftl

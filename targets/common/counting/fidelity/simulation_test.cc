// The simulation behind Table 2 against the table itself: the same increments cost the same operations. Linked with one
// scheme.
#include "targets/common/counting/fidelity/simulation.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "targets/common/counting/table.h"
#include "targets/common/test_table.h"

namespace powercut::counting {
namespace {

using fidelity::Simulation;
using test::TestTable;

// `change` in percent.
void Compare(uint32_t blocks, uint32_t pages, uint32_t entries, uint32_t buffer, uint32_t change, uint64_t keys) {
  const bool staged = kMember.scheme != Scheme::kBounded;
  TestTable::Settings settings = {{"blocks", std::to_string(blocks)},
                                  {"pages", std::to_string(pages)},
                                  {"entries", std::to_string(entries)},
                                  {"buffer", std::to_string(buffer)},
                                  {"overflow", "0"}};
  if (staged) settings.emplace_back("change", std::to_string(change));
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "published", settings, 8, 8, 1 << 20);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  reinterpret_cast<Table*>(table.handle())->CountReads();
  const Device::Counts& counts = reinterpret_cast<Table*>(table.handle())->counts();
  const Device::Counts before = counts;

  Simulation::Shape shape{.scheme = kMember.scheme, .blocks = blocks, .page_entries = entries, .block_pages = pages};
  if (kMember.scheme == Scheme::kSegmented) shape.log_pages = pages, shape.log_slots = 100 / change;
  if (kMember.scheme == Scheme::kLinear) shape.log_pages = blocks * pages * change / 100, shape.log_slots = blocks;
  uint64_t written = 0, beyond = 0;
  Simulation simulation(shape, [&](uint64_t first, uint32_t count) {
    written += count;
    beyond += first + count > simulation.pages() ? 1 : 0;
  });

  std::mt19937_64 random(1);
  std::set<uint64_t> buffered;
  const auto stage = [&] {
    std::vector<uint32_t> changes(blocks, 0);
    for (const uint64_t key : buffered) {
      uint64_t bytes;
      std::memcpy(&bytes, table.Key(key).data(), sizeof bytes);
      ++changes[PositionIn(blocks, pages * entries, bytes).slot];
    }
    simulation.Stage(changes);
    buffered.clear();
  };
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t key = 1 + std::min(random() % keys, random() % keys);
    if (buffered.count(key) == 0 && buffered.size() == buffer) stage();
    buffered.insert(key);
    ASSERT_EQ(table.Increment(key, 1), POWERCUT_OK);
  }
  stage();
  if (staged) ASSERT_EQ(table.Maintain("stage"), POWERCUT_OK);
  ASSERT_EQ(table.Maintain("merge"), POWERCUT_OK);
  simulation.Finish();

  const fidelity::Operations& simulated = simulation.operations();
  EXPECT_GT(simulated.merges, 10u);
  EXPECT_EQ(simulated.block, counts.block_reads + counts.block_writes - before.block_reads - before.block_writes);
  EXPECT_EQ(simulated.page, counts.page_reads + counts.page_writes - before.page_reads - before.page_writes);
  EXPECT_EQ(written,
            counts.block_writes * pages + counts.page_writes - before.block_writes * pages - before.page_writes);
  EXPECT_EQ(beyond, 0u);
  EXPECT_EQ(simulated.merges, staged ? counts.block_erases : counts.flushes);
  if (staged) EXPECT_EQ(simulated.merges + simulated.stages, counts.flushes);
}

TEST(Simulation, CostsWhatTheTableCosts) {
  if (kMember.scheme == Scheme::kUnbuffered) return;  // it is not simulated
  Compare(5, 8, 27, 20, 50, 60);
  Compare(4, 16, 8, 7, 25, 40);
  Compare(9, 4, 16, 30, 33, 100);
  Compare(3, 2, 27, 1, 100, 12);
}

}  // namespace
}  // namespace powercut::counting

// Real threads on one small table, `hardened` (test_threads.h).
#include "targets/common/test_threads.h"

namespace powercut::dash_lh {
namespace {

// Parameter: the number of stash buckets. One slot a bucket: nearly every insert grows a chain, and with it the table.
class DashLhThreadsTest : public test::ThreadsTest<const char*> {
 protected:
  DashLhThreadsTest() : ThreadsTest({{"slots", "1"}, {"stash", GetParam()}, {"stride", "1"}}, {.pool = 64 << 20}) {}
};

POWERCUT_THREADS_TESTS(DashLhThreadsTest, 500, 3000, 2500);

// Expansions, splits, chains and displacements beside inserts and searches.
TEST_P(DashLhThreadsTest, SegmentsSplitUnderTheirClients) { threads_.NoKeyIsMissedWhileTheTableGrows(1500); }

TEST_P(DashLhThreadsTest, SegmentsAreRecoveredUnderTheirClients) { threads_.SegmentsAreRecoveredUnderTheirClients(); }

INSTANTIATE_TEST_SUITE_P(Stash, DashLhThreadsTest, testing::Values("1", "2"));

TEST(DashLhThreadsTraits, SayWhatEachVariantPromises) {
  test::ExpectTraits("hardened", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/true);
  test::ExpectTraits("hardened", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
  test::ExpectTraits("published", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
}

}  // namespace
}  // namespace powercut::dash_lh

// Real threads on one small table, `hardened` (test_threads.h).
#include "targets/common/test_threads.h"

namespace powercut::dash {
namespace {

// Parameter: the number of stash buckets.
class DashThreadsTest : public test::ThreadsTest<const char*> {
 protected:
  DashThreadsTest() : ThreadsTest({{"slots", "3"}, {"stash", GetParam()}}, {.pool = 16 << 20}) {}
};

POWERCUT_THREADS_TESTS(DashThreadsTest, 500, 3000, 2500);

// Splits, doublings and displacements beside inserts and searches.
TEST_P(DashThreadsTest, SegmentsSplitUnderTheirClients) { threads_.NoKeyIsMissedWhileTheTableGrows(1500); }

TEST_P(DashThreadsTest, SegmentsAreRecoveredUnderTheirClients) { threads_.SegmentsAreRecoveredUnderTheirClients(); }

INSTANTIATE_TEST_SUITE_P(Stash, DashThreadsTest, testing::Values("0", "1"));

TEST(DashThreadsTraits, SayWhatEachVariantPromises) {
  test::ExpectTraits("hardened", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/true);
  test::ExpectTraits("hardened", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
  test::ExpectTraits("published", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
}

}  // namespace
}  // namespace powercut::dash

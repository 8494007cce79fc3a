// Real threads on one small table, `hardened` (test_threads.h).
#include "targets/common/test_threads.h"

namespace powercut::cceh {
namespace {

// Parameter: how a segment splits.
class CcehThreadsTest : public test::ThreadsTest<const char*> {
 protected:
  CcehThreadsTest() : ThreadsTest({{"slots", "8"}, {"depth", "0"}, {"split", GetParam()}}, {.pool = 4 << 20}) {}
};

POWERCUT_THREADS_TESTS(CcehThreadsTest, 500, 3000, 2500);

// Splits and doublings beside inserts into other segments, and beside searches in the one that splits.
TEST_P(CcehThreadsTest, SegmentsSplitUnderTheirClients) { threads_.NoKeyIsMissedWhileTheTableGrows(1500); }

INSTANTIATE_TEST_SUITE_P(Both, CcehThreadsTest, testing::Values("lazy", "cow"));

TEST(CcehThreadsTraits, SayWhatEachVariantPromises) {
  test::ExpectTraits("hardened", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/false);
  test::ExpectTraits("hardened", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
  // As in the public code.
  test::ExpectTraits("published", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/false);
}

}  // namespace
}  // namespace powercut::cceh

// Real threads on one small table, `hardened` (test_threads.h).
#include <tuple>

#include "targets/common/test_threads.h"

namespace powercut::cceh {
namespace {

// Parameters: how a segment splits, and where items lie.
class CcehThreadsTest : public test::ThreadsTest<std::tuple<const char*, const char*>> {
 protected:
  CcehThreadsTest()
      : ThreadsTest(
            {{"slots", "8"}, {"depth", "0"}, {"split", std::get<0>(GetParam())}, {"items", std::get<1>(GetParam())}},
            {.pool = 4 << 20}) {}
};

POWERCUT_THREADS_TESTS(CcehThreadsTest, 500, 3000, 2500);

// Splits and doublings beside inserts into other segments, and beside searches in the one that splits.
TEST_P(CcehThreadsTest, SegmentsSplitUnderTheirClients) { threads_.NoKeyIsMissedWhileTheTableGrows(1500); }

INSTANTIATE_TEST_SUITE_P(Shapes, CcehThreadsTest,
                         testing::Values(std::tuple("lazy", "slot"), std::tuple("cow", "slot"),
                                         std::tuple("lazy", "pointer"), std::tuple("cow", "transaction")));

TEST(CcehThreadsTraits, SayWhatEachVariantPromises) {
  test::ExpectTraits("hardened", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/false);
  test::ExpectTraits("hardened", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
  // As in the public code.
  test::ExpectTraits("published", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/false);
}

}  // namespace
}  // namespace powercut::cceh

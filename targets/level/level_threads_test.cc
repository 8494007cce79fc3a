// Real threads on one small table, `hardened` (test_threads.h).
#include <tuple>

#include "targets/common/test_threads.h"

namespace powercut::level {
namespace {

// Parameters: the layout, and whether updates may do without a log.
class LevelThreadsTest : public test::ThreadsTest<std::tuple<const char*, const char*>> {
 protected:
  LevelThreadsTest()
      : ThreadsTest({{"top", "2"}, {"layout", std::get<0>(GetParam())}, {"opportunistic", std::get<1>(GetParam())}},
                    {.key = wide() ? 16u : 8u, .value = wide() ? 15u : 8u}, {.commands = {"expand", "shrink"}}) {}
  static bool wide() { return std::string(std::get<0>(GetParam())) == "16x15"; }
};

POWERCUT_THREADS_TESTS(LevelThreadsTest, 500, 3000, 2500);

INSTANTIATE_TEST_SUITE_P(Shapes, LevelThreadsTest,
                         testing::Combine(testing::Values("16x15", "8x8"), testing::Values("on", "off")));

TEST(LevelThreadsTraits, SayWhatEachVariantPromises) {
  test::ExpectTraits("hardened", /*concurrent=*/false, 16, 15, /*thread_safe=*/false, /*checks_exists=*/false);
  test::ExpectTraits("hardened", /*concurrent=*/true, 16, 15, /*thread_safe=*/true, /*checks_exists=*/true);
  // The paper inserts unique keys.
  test::ExpectTraits("published", /*concurrent=*/true, 16, 15, /*thread_safe=*/true, /*checks_exists=*/false);
}

}  // namespace
}  // namespace powercut::level

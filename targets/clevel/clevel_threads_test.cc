// Real threads on one small table, `hardened` (test_threads.h). Rehashing threads work beside the clients.
#include <tuple>

#include "targets/clevel/layout.h"
#include "targets/common/test_threads.h"

namespace powercut::clevel {
namespace {

static_assert(kClients >= test::TableThreads::kThreads);

// Parameters: the number of rehashing threads, and the number of blocks that a thread holds back.
class ClevelThreadsTest : public test::ThreadsTest<std::tuple<const char*, const char*>> {
 protected:
  // Every expansion doubles the table.
  ClevelThreadsTest()
      : ThreadsTest({{"first", "2"},
                     {"slots", "4"},
                     {"rehash_threads", std::get<0>(GetParam())},
                     {"reclaim", std::get<1>(GetParam())}},
                    {.value = 16, .pool = 16 << 20}, {.commands = {"rehash", "rehash", "expand"}, .every = 800},
                    powercut_target_background()) {}
};

POWERCUT_THREADS_TESTS(ClevelThreadsTest, 1500, 6000, 5000);

INSTANTIATE_TEST_SUITE_P(Shapes, ClevelThreadsTest,
                         testing::Combine(testing::Values("1", "3"), testing::Values("1", "8")));

TEST(ClevelThreadsTraits, SayWhatEachVariantPromises) {
  test::ExpectTraits("published", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/true);
  test::ExpectTraits("hardened", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/true);
  test::ExpectTraits("published", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
  test::ExpectTraits("hardened", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
}

}  // namespace
}  // namespace powercut::clevel

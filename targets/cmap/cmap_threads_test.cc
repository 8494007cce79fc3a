// Real threads on one small table, `hardened` (test_threads.h).
#include <tuple>

#include "targets/common/test_threads.h"

namespace powercut::cmap {
namespace {

// Parameters: how an update is made, where the number of items is kept, and the size of values (16 bytes take the undo
// log).
class CmapThreadsTest : public test::ThreadsTest<std::tuple<const char*, const char*, uint32_t>> {
 protected:
  CmapThreadsTest()
      : ThreadsTest({{"update", std::get<0>(GetParam())}, {"size", std::get<1>(GetParam())}},
                    {.value = std::get<2>(GetParam())}, {.commands = {"grow", "rehash"}}) {}
};

POWERCUT_THREADS_TESTS(CmapThreadsTest, 500, 3000, 2500);

INSTANTIATE_TEST_SUITE_P(Shapes, CmapThreadsTest,
                         testing::Combine(testing::Values("assign", "replace"), testing::Values("recount", "logged"),
                                          testing::Values(8u, 16u)));

TEST(CmapThreadsTraits, SayThatThreadsMayCall) {
  test::ExpectTraits("published", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/true);
  test::ExpectTraits("hardened", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/true);
  test::ExpectTraits("published", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
  test::ExpectTraits("hardened", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
}

}  // namespace
}  // namespace powercut::cmap

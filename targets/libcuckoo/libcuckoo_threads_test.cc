// `hardened` under real threads, on tables small enough that inserts evict and resizes come often.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "targets/common/test_threads.h"

namespace powercut::cuckoo {
namespace {

// Parameters: the size of items, how updates change items, and how the table is resized.
class LibcuckooThreadsTest : public test::ThreadsTest<std::tuple<bool, const char*, const char*>> {
 protected:
  // Shrink more often, so that buckets are full.
  LibcuckooThreadsTest()
      : ThreadsTest({{"buckets", "2"},
                     {"slots", "2"},
                     {"update", std::get<1>(GetParam())},
                     {"resize", std::get<2>(GetParam())}},
                    {.key = wide() ? 16u : 8u, .value = wide() ? 15u : 8u},
                    {.commands = {"shrink", "expand", "shrink"}}) {}
  static bool wide() { return std::get<0>(GetParam()); }
};

POWERCUT_THREADS_TESTS(LibcuckooThreadsTest, 150, 3000, 2500);

INSTANTIATE_TEST_SUITE_P(Shapes, LibcuckooThreadsTest,
                         testing::Values(std::tuple(false, "inplace", "copy"), std::tuple(false, "logged", "rehash"),
                                         std::tuple(true, "opportunistic", "copy"),
                                         std::tuple(true, "inplace", "rehash")));

TEST(LibcuckooThreadsTraits, SayWhatEachConfigurationPromises) {
  test::ExpectTraits("published", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/false);
  test::ExpectTraits("hardened", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/false);
  test::ExpectTraits("published", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
  test::ExpectTraits("hardened", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
}

}  // namespace
}  // namespace powercut::cuckoo

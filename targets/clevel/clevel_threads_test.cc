// Real threads on one small table, `hardened` (test_threads.h). Rehashing threads work beside the clients.
#include <tuple>

#include "targets/clevel/layout.h"
#include "targets/common/test_threads.h"

namespace powercut::clevel {
namespace {

using test::TestTable;

static_assert(kClients >= test::TableThreads::kThreads);

// Of rehashing threads, and of blocks that a thread holds back.
class ClevelThreadsTest : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    ASSERT_EQ(table_.Format(), POWERCUT_OK) << table_.error();
    ASSERT_EQ(table_.Open(), POWERCUT_OK);
  }

  TestTable table_{powercut_target_entry(POWERCUT_TARGET_ABI),
                   "hardened",
                   {{"concurrency", "concurrent"},
                    {"first", "2"},
                    {"slots", "4"},
                    {"rehash_threads", std::get<0>(GetParam())},
                    {"reclaim", std::get<1>(GetParam())}},
                   8,
                   16,
                   16 << 20};
  // Every expansion doubles the table.
  test::TableThreads threads_{
      &table_, {.commands = {"rehash", "rehash", "expand"}, .every = 800}, powercut_target_background()};
};

TEST_P(ClevelThreadsTest, OneOfManyInsertsOfAKeySucceeds) { threads_.OneOfManyInsertsOfAKeySucceeds(1500); }
TEST_P(ClevelThreadsTest, AThreadSeesItsOwnKeys) { threads_.AThreadSeesItsOwnKeysAsIfItWereAlone(6000); }
TEST_P(ClevelThreadsTest, InsertsAndErasesAlternate) { threads_.InsertsAndErasesOfSharedKeysAlternate(5000); }

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

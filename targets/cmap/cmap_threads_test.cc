// Real threads on one small table, `hardened` (test_threads.h).
#include <tuple>

#include "targets/common/test_threads.h"

namespace powercut::cmap {
namespace {

using test::TestTable;

// Of how an update is made, where the number of items is kept, and the size of values: 16 bytes take the undo log.
class CmapThreadsTest : public testing::TestWithParam<std::tuple<const char*, const char*, uint32_t>> {
 protected:
  void SetUp() override {
    ASSERT_EQ(table_.Format(), POWERCUT_OK) << table_.error();
    ASSERT_EQ(table_.Open(), POWERCUT_OK);
  }

  TestTable table_{
      powercut_target_entry(POWERCUT_TARGET_ABI),
      "hardened",
      {{"concurrency", "concurrent"}, {"update", std::get<0>(GetParam())}, {"size", std::get<1>(GetParam())}},
      8,
      std::get<2>(GetParam()),
      1 << 20};
  test::TableThreads threads_{&table_, {.commands = {"grow", "rehash"}}};
};

TEST_P(CmapThreadsTest, OneOfManyInsertsOfAKeySucceeds) { threads_.OneOfManyInsertsOfAKeySucceeds(500); }
TEST_P(CmapThreadsTest, AThreadSeesItsOwnKeys) { threads_.AThreadSeesItsOwnKeysAsIfItWereAlone(3000); }
TEST_P(CmapThreadsTest, InsertsAndErasesAlternate) { threads_.InsertsAndErasesOfSharedKeysAlternate(2500); }

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

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
  const powercut_target* target = powercut_target_entry(POWERCUT_TARGET_ABI);
  const powercut_option concurrent = {"concurrency", "concurrent"};
  for (const char* variant : {"published", "hardened"}) {
    for (const size_t options : {0u, 1u}) {
      const powercut_config config = {variant, &concurrent, options, 8, 8, nullptr, 0};
      powercut_traits traits;
      ASSERT_EQ(target->traits(&config, &traits), POWERCUT_OK);
      EXPECT_EQ(traits.thread_safe, options);
      EXPECT_EQ(traits.checks_exists, 1u);
    }
  }
}

}  // namespace
}  // namespace powercut::cmap

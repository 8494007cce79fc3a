// Real threads on one small table, `hardened` (test_threads.h).
#include "targets/common/test_threads.h"

namespace powercut::cceh {
namespace {

using test::TableThreads;
using test::TestTable;

// Of how a segment splits.
class CcehThreadsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_EQ(table_.Format(), POWERCUT_OK) << table_.error();
    ASSERT_EQ(table_.Open(), POWERCUT_OK);
  }

  TestTable table_{powercut_target_entry(POWERCUT_TARGET_ABI),
                   "hardened",
                   {{"concurrency", "concurrent"}, {"slots", "8"}, {"depth", "0"}, {"split", GetParam()}},
                   8,
                   8,
                   4 << 20};
  TableThreads threads_{&table_};
};

TEST_P(CcehThreadsTest, OneOfManyInsertsOfAKeySucceeds) { threads_.OneOfManyInsertsOfAKeySucceeds(500); }
TEST_P(CcehThreadsTest, AThreadSeesItsOwnKeys) { threads_.AThreadSeesItsOwnKeysAsIfItWereAlone(3000); }
TEST_P(CcehThreadsTest, InsertsAndErasesAlternate) { threads_.InsertsAndErasesOfSharedKeysAlternate(2500); }

// Splits and doublings beside inserts into other segments, and beside searches in the one that splits.
TEST_P(CcehThreadsTest, SegmentsSplitUnderTheirClients) {
  constexpr uint64_t kKeys = 1500;
  std::array<std::string, TableThreads::kThreads> wrong;
  threads_.Run([&](int i) {
    for (uint64_t n = 0; n < kKeys && wrong[i].empty(); ++n) {
      const uint64_t key = 1 + n * TableThreads::kThreads + i, early = 1 + n / 2 * TableThreads::kThreads + i;
      if (table_.Insert(key, key) != POWERCUT_OK) wrong[i] = "insert of key " + std::to_string(key);
      for (const uint64_t present : {key, early}) {
        if (table_.Lookup(present) != table_.Value(present)) wrong[i] = "lookup of key " + std::to_string(present);
      }
    }
  });
  for (const std::string& message : wrong) ASSERT_EQ(message, "");
  for (int opening = 0; opening < 2; ++opening) {
    ASSERT_EQ(table_.Contents().size(), kKeys * TableThreads::kThreads);
    ASSERT_EQ(table_.Damage(), "");
    ASSERT_EQ(table_.Cut(), POWERCUT_OK);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, CcehThreadsTest, testing::Values("lazy", "cow"));

TEST(CcehThreadsTraits, SayWhatEachVariantPromises) {
  const powercut_target* target = powercut_target_entry(POWERCUT_TARGET_ABI);
  const powercut_option concurrent = {"concurrency", "concurrent"};
  const auto traits_of = [&](const char* variant, bool threads) {
    const powercut_config config = {variant, &concurrent, threads ? 1u : 0u, 8, 8, nullptr, 0};
    powercut_traits traits;
    EXPECT_EQ(target->traits(&config, &traits), POWERCUT_OK);
    return traits;
  };
  EXPECT_EQ(traits_of("hardened", false).thread_safe, 0u);
  EXPECT_EQ(traits_of("hardened", false).checks_exists, 0u);
  EXPECT_EQ(traits_of("hardened", true).thread_safe, 1u);
  EXPECT_EQ(traits_of("hardened", true).checks_exists, 1u);
  EXPECT_EQ(traits_of("published", true).thread_safe, 1u);
  EXPECT_EQ(traits_of("published", true).checks_exists, 0u);  // as in the public code
}

}  // namespace
}  // namespace powercut::cceh

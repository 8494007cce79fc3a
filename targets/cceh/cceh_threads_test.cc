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
  test::ExpectTraits("hardened", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/false);
  test::ExpectTraits("hardened", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
  // As in the public code.
  test::ExpectTraits("published", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/false);
}

}  // namespace
}  // namespace powercut::cceh

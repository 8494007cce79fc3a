// Real threads on one small table, `hardened` (test_threads.h).
#include "targets/common/test_threads.h"

namespace powercut::dash {
namespace {

using test::TableThreads;

// Of the number of stash buckets.
class DashThreadsTest : public test::ThreadsTest<const char*> {
 protected:
  DashThreadsTest() : ThreadsTest({{"slots", "3"}, {"stash", GetParam()}}, {.pool = 16 << 20}) {}
};

TEST_P(DashThreadsTest, OneOfManyInsertsOfAKeySucceeds) { threads_.OneOfManyInsertsOfAKeySucceeds(500); }
TEST_P(DashThreadsTest, AThreadSeesItsOwnKeys) { threads_.AThreadSeesItsOwnKeysAsIfItWereAlone(3000); }
TEST_P(DashThreadsTest, InsertsAndErasesAlternate) { threads_.InsertsAndErasesOfSharedKeysAlternate(2500); }

// Splits, doublings and displacements beside inserts and searches.
TEST_P(DashThreadsTest, SegmentsSplitUnderTheirClients) { threads_.NoKeyIsMissedWhileTheTableGrows(1500); }

// After a cut no segment is recovered: the first threads that come to one recover it, beside searches in it.
TEST_P(DashThreadsTest, SegmentsAreRecoveredUnderTheirClients) {
  constexpr uint64_t kKeys = 200;
  for (uint64_t key = 1; key <= kKeys; ++key) ASSERT_EQ(table_.Insert(key, key), POWERCUT_OK);
  for (uint64_t round = 1; round <= 20; ++round) {
    ASSERT_EQ(table_.Cut(), POWERCUT_OK);
    std::array<std::string, TableThreads::kThreads> wrong;
    threads_.Run([&](int i) {
      for (uint64_t key = 1; key <= kKeys; ++key) {
        const std::string found = table_.Lookup(key);
        if (found != table_.Value(key + kKeys * (round - 1)) && found != table_.Value(key + kKeys * round)) {
          wrong[i] = "lookup of key " + std::to_string(key);
        }
        if (table_.Update(key, key + kKeys * round) != POWERCUT_OK) wrong[i] = "update of key " + std::to_string(key);
      }
    });
    for (const std::string& message : wrong) ASSERT_EQ(message, "");
    ASSERT_EQ(table_.Contents().size(), kKeys);
    ASSERT_EQ(table_.Damage(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Stash, DashThreadsTest, testing::Values("0", "1"));

TEST(DashThreadsTraits, SayWhatEachVariantPromises) {
  test::ExpectTraits("hardened", /*concurrent=*/false, 8, 8, /*thread_safe=*/false, /*checks_exists=*/true);
  test::ExpectTraits("hardened", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
  test::ExpectTraits("published", /*concurrent=*/true, 8, 8, /*thread_safe=*/true, /*checks_exists=*/true);
}

}  // namespace
}  // namespace powercut::dash

// Real threads on a few lists, with each construction (test_threads.h), and what becomes of nodes.
#include "targets/common/test_threads.h"

namespace powercut::constructions {
namespace {

using test::TableThreads;
using test::TestTable;

constexpr uint64_t kPool = 16 << 20;  // while a table is open no node is used twice

// `run(table)` on an empty, open table.
void WithTable(const char* construction, uint64_t pool_size, const std::function<void(TestTable*)>& run) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened",
                  {{"construction", construction}, {"buckets", "2"}}, 8, 8, pool_size);
  ASSERT_EQ(table.Format(), POWERCUT_OK) << table.error();
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  run(&table);
}

class ConstructionsTest : public testing::TestWithParam<const char*> {};

TEST_P(ConstructionsTest, OneOfManyInsertsOfAKeySucceeds) {
  WithTable(GetParam(), kPool, [](TestTable* table) { TableThreads(table).OneOfManyInsertsOfAKeySucceeds(500); });
}

TEST_P(ConstructionsTest, AThreadSeesItsOwnKeys) {
  WithTable(GetParam(), kPool,
            [](TestTable* table) { TableThreads(table).AThreadSeesItsOwnKeysAsIfItWereAlone(8000); });
}

TEST_P(ConstructionsTest, InsertsAndErasesAlternate) {
  WithTable(GetParam(), kPool,
            [](TestTable* table) { TableThreads(table).InsertsAndErasesOfSharedKeysAlternate(8000); });
}

TEST_P(ConstructionsTest, ErasedNodesAreFreeAtTheNextOpen) {
  WithTable(GetParam(), 16 << 10, [](TestTable* table) {
    ASSERT_EQ(table->Insert(1000, 1), POWERCUT_OK);
    uint64_t rounds[2] = {0, 0};
    for (uint64_t& round : rounds) {
      while (table->Insert(1 + round, round) == POWERCUT_OK) ASSERT_EQ(table->Erase(1 + round++), POWERCUT_OK);
      EXPECT_EQ(table->Insert(1 + round, round), POWERCUT_FULL);
      EXPECT_EQ(table->Update(1000, 2), POWERCUT_FULL);
      EXPECT_EQ(table->Lookup(1000), table->Value(1));
      ASSERT_EQ(table->Cut(), POWERCUT_OK);
      EXPECT_EQ(table->Damage(), "");
    }
    EXPECT_GT(rounds[0], 200u);
    EXPECT_EQ(rounds[0], rounds[1]);
  });
}

INSTANTIATE_TEST_SUITE_P(Constructions, ConstructionsTest, testing::Values("flit", "link_and_persist", "nvtraverse"));

}  // namespace
}  // namespace powercut::constructions

// Real threads on one map, and what an open keeps.
#include "targets/common/test_threads.h"

namespace powercut::montage {
namespace {

using test::TableThreads;
using test::TestTable;

void WithTable(const char* every, const std::function<void(TestTable*)>& run) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "published", {{"every", every}}, 8, 8, 1 << 20);
  ASSERT_EQ(table.Format(), POWERCUT_OK) << table.error();
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  run(&table);
}

TEST(MontageTest, OpenDiscardsTwoEpochs) {
  WithTable("0", [](TestTable* table) {
    for (uint64_t key = 1; key <= 3; ++key) {
      ASSERT_EQ(table->Insert(key, key), POWERCUT_OK);
      ASSERT_EQ(table->Maintain("advance"), POWERCUT_OK);
    }
    ASSERT_EQ(table->Insert(4, 4), POWERCUT_OK);
    ASSERT_EQ(table->Cut(), POWERCUT_OK);
    EXPECT_EQ(table->Lookup(2), table->Value(2));
    EXPECT_EQ(table->Lookup(3), "");
    EXPECT_EQ(table->Lookup(4), "");
    // A discarded payload stays discarded when the clock moves on.
    ASSERT_EQ(table->Maintain("sync"), POWERCUT_OK);
    ASSERT_EQ(table->Cut(), POWERCUT_OK);
    EXPECT_EQ(table->Lookup(3), "");
    EXPECT_EQ(table->Contents().size(), 2u);
  });
}

TEST(MontageTest, SyncKeepsWhatThreadsHaveDone) {
  constexpr uint64_t kKeys = 16, kOperations = 20'000;
  for (const char* every : {"0", "1", "7"}) {
    WithTable(every, [](TestTable* table) {
      std::array<std::map<uint64_t, uint64_t>, TableThreads::kThreads> models;
      std::array<uint64_t, TableThreads::kThreads> wrong{};
      TableThreads(table).Run([&](int i) {
        std::mt19937_64 random(static_cast<uint64_t>(i));
        for (uint64_t serial = 1; serial <= kOperations; ++serial) {
          const uint64_t key = 1 + static_cast<uint64_t>(i) + TableThreads::kThreads * (random() % kKeys);
          const bool there = models[i].count(key) != 0;
          powercut_status expected = there ? POWERCUT_OK : POWERCUT_NOT_FOUND, status;
          switch (random() % 3) {
            case 0:
              status = table->Insert(key, serial);
              expected = there ? POWERCUT_EXISTS : POWERCUT_OK;
              models[i].emplace(key, serial);
              break;
            case 1:
              status = table->Update(key, serial);
              if (there) models[i][key] = serial;
              break;
            default:
              status = table->Erase(key);
              models[i].erase(key);
          }
          wrong[i] += status != expected;
          if (serial % 500 == 0) wrong[i] += table->Maintain(serial % 1000 == 0 ? "sync" : "advance") != POWERCUT_OK;
        }
      });
      std::multimap<std::string, std::string> expected;
      for (const auto& model : models) {
        for (const auto& [key, value] : model) expected.emplace(table->Key(key), table->Value(value));
      }
      EXPECT_EQ(wrong, (std::array<uint64_t, TableThreads::kThreads>{}));
      EXPECT_EQ(table->Contents(), expected);
      ASSERT_EQ(table->Maintain("sync"), POWERCUT_OK);
      ASSERT_EQ(table->Cut(), POWERCUT_OK);
      EXPECT_EQ(table->Contents(), expected);
    });
  }
}

}  // namespace
}  // namespace powercut::montage

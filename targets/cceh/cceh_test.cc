// Cases that neither the conformance suite nor a scenario reaches: keys equal to the words that mean a free and a
// claimed slot, and segments as large as the paper's.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "targets/common/test_table.h"

namespace powercut::cceh {
namespace {

using test::TestTable;

const powercut_target* Target() { return powercut_target_entry(POWERCUT_TARGET_ABI); }

// A table that is asked by the 8 bytes of a key, not by its number.
class RawKeys {
 public:
  explicit RawKeys(const char* variant) : table_(Target(), variant, {{"slots", "8"}}, 8, 8, 64 << 10) {
    EXPECT_EQ(table_.Format(), POWERCUT_OK);
    EXPECT_EQ(table_.Open(), POWERCUT_OK);
  }
  TestTable& table() { return table_; }
  powercut_status Insert(uint64_t key, uint64_t value) {
    return Target()->insert(table_.handle(), Bytes(&key), Bytes(&value));
  }
  powercut_status Update(uint64_t key, uint64_t value) {
    return Target()->update(table_.handle(), Bytes(&key), Bytes(&value));
  }
  powercut_status Erase(uint64_t key) { return Target()->erase(table_.handle(), Bytes(&key)); }
  // The value, or 0 when the key is absent.
  uint64_t Lookup(uint64_t key) {
    uint64_t value = 0;
    size_t size = 0;
    return Target()->lookup(table_.handle(), Bytes(&key), &value, sizeof value, &size) == POWERCUT_OK ? value : 0;
  }
  uint64_t Copies(uint64_t key) {
    uint64_t count = 0;
    const auto one = [](void* context, powercut_bytes, powercut_bytes) {
      ++*static_cast<uint64_t*>(context);
      return 0;
    };
    Target()->copies(table_.handle(), Bytes(&key), one, &count);
    return count;
  }

 private:
  static powercut_bytes Bytes(const uint64_t* word) { return {word, sizeof *word}; }
  TestTable table_;
};

class CcehReservedKey : public testing::TestWithParam<std::tuple<const char*, uint64_t>> {};

TEST_P(CcehReservedKey, IsAKeyLikeAnyOther) {
  const auto [variant, key] = GetParam();
  RawKeys raw(variant);
  EXPECT_EQ(raw.Lookup(key), 0u);
  EXPECT_EQ(raw.Copies(key), 0u);
  EXPECT_EQ(raw.Update(key, 1), POWERCUT_NOT_FOUND);
  EXPECT_EQ(raw.Erase(key), POWERCUT_NOT_FOUND);
  ASSERT_EQ(raw.Insert(key, 17), POWERCUT_OK);
  for (uint64_t other = 1; other <= 40; ++other) ASSERT_EQ(raw.table().Insert(other, other), POWERCUT_OK);
  ASSERT_EQ(raw.table().Cut(), POWERCUT_OK);
  EXPECT_EQ(raw.Lookup(key), 17u);
  EXPECT_EQ(raw.Copies(key), 1u);
  ASSERT_EQ(raw.Update(key, 18), POWERCUT_OK);
  ASSERT_EQ(raw.table().Cut(), POWERCUT_OK);
  EXPECT_EQ(raw.Lookup(key), 18u);
  EXPECT_EQ(raw.table().Contents().size(), 41u);
  EXPECT_EQ(raw.table().Damage(), "");
  ASSERT_EQ(raw.Erase(key), POWERCUT_OK);
  ASSERT_EQ(raw.table().Cut(), POWERCUT_OK);
  EXPECT_EQ(raw.Lookup(key), 0u);
  EXPECT_EQ(raw.Erase(key), POWERCUT_NOT_FOUND);
  EXPECT_EQ(raw.table().Contents().size(), 40u);
}

INSTANTIATE_TEST_SUITE_P(Both, CcehReservedKey,
                         testing::Combine(testing::Values("published", "hardened"),
                                          testing::Values(~uint64_t{0}, ~uint64_t{0} - 1)));

class CcehSplit : public testing::TestWithParam<const char*> {};

// 20,000 items in segments of 16 KiB: splits whose windows wrap around the end of a segment lose nothing.
TEST_P(CcehSplit, KeepsEveryItemOfALargeSegment) {
  TestTable table(Target(), "hardened", {{"slots", "1024"}, {"depth", "0"}, {"split", GetParam()}}, 8, 8, 16 << 20);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  constexpr uint64_t kItems = 20'000;
  for (uint64_t key = 1; key <= kItems; ++key) ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);
  ASSERT_EQ(table.Cut(), POWERCUT_OK);
  for (uint64_t key = 1; key <= kItems; ++key) ASSERT_EQ(table.Lookup(key), table.Value(key)) << key;
  EXPECT_EQ(table.Contents().size(), kItems);
  EXPECT_EQ(table.Damage(), "");
}

// An erased item does not come back from the copy that a lazy split has left in the old segment.
TEST_P(CcehSplit, StaleCopiesStayDead) {
  TestTable table(Target(), "hardened", {{"slots", "8"}, {"depth", "0"}, {"split", GetParam()}}, 8, 8, 1 << 20);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  for (uint64_t key = 1; key <= 500; ++key) ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);
  for (uint64_t key = 1; key <= 500; ++key) ASSERT_EQ(table.Erase(key), POWERCUT_OK);
  for (uint64_t key = 501; key <= 2000; ++key) ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);
  ASSERT_EQ(table.Cut(), POWERCUT_OK);
  for (uint64_t key = 1; key <= 500; ++key) ASSERT_EQ(table.Lookup(key), "") << key;
  EXPECT_EQ(table.Contents().size(), 1500u);
  EXPECT_EQ(table.Damage(), "");
}

INSTANTIATE_TEST_SUITE_P(Both, CcehSplit, testing::Values("lazy", "cow"));

}  // namespace
}  // namespace powercut::cceh

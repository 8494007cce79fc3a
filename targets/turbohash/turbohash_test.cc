// Tests beyond the shared conformance suite: all comparisons of tags agree, and recovery reads the directory and not
// the items.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>

#include "targets/common/test_table.h"
#include "targets/turbohash/layout.h"
#include "targets/turbohash/tags.h"

namespace {
int larger_rebuilds = 0;
}  // namespace

// pmem::mark calls this function in this program.
extern "C" void powercut_mark(const char* name) {
  if (std::strcmp(name, "rebuild.larger") == 0) ++larger_rebuilds;
}

namespace powercut::turbohash {
namespace {

using test::TestTable;

TEST(TurboHashTags, EveryKindAnswersAsTheScalarOne) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    uint8_t tags[16];
    for (uint8_t& tag : tags) tag = static_cast<uint8_t>(random() % (round % 2 == 0 ? 4 : 256));
    const auto tag = static_cast<uint8_t>(random() % (round % 2 == 0 ? 4 : 256));
    uint32_t expected = 0;
    for (uint32_t i = 0; i < 16; ++i) expected |= uint32_t{tags[i] == tag} << i;
    for (Tags kind : {Tags::kScalar, Tags::kAvx2, Tags::kAvx512}) {
      if (HasTags(kind)) ASSERT_EQ(MatchTags(kind, tags, tag), expected) << "kind " << static_cast<int>(kind);
    }
  }
}

// The whole pool, not only the answers: what a table writes must not depend on the CPU that wrote it.
TEST(TurboHashTags, EveryKindWritesTheSamePool) {
  const auto run = [](const char* tags) {
    TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", {{"tags", tags}}, 8, 8, 1 << 18);
    EXPECT_EQ(table.Format(), POWERCUT_OK);
    EXPECT_EQ(table.Open(), POWERCUT_OK);
    std::mt19937_64 random(11);
    for (uint64_t serial = 1; serial <= 3000; ++serial) {
      const uint64_t key = 1 + random() % 200;
      const bool present = !table.Lookup(key).empty();
      if (!present) {
        table.Insert(key, serial);
      } else if (random() % 2 == 0) {
        table.Update(key, serial);
      } else {
        table.Erase(key);
      }
    }
    EXPECT_EQ(table.Damage(), "");
    return std::string(reinterpret_cast<const char*>(table.pool().base), table.pool().size);
  };
  const std::string scalar = run("scalar");
  if (HasTags(Tags::kAvx2)) EXPECT_TRUE(run("avx2") == scalar);
  if (HasTags(Tags::kAvx512)) EXPECT_TRUE(run("avx512") == scalar);
}

// 3.7: "The only operation for a failure recovery is to read the directory."
TEST(TurboHashRecovery, ReadsNoItem) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", {{"shards", "1"}, {"buckets", "16"}}, 8, 8,
                  1 << 20);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  for (uint64_t key = 1; key <= 150; ++key) ASSERT_EQ(table.Insert(key, key), POWERCUT_OK);
  const auto* descriptor = reinterpret_cast<const Descriptor*>(table.pool().base + sizeof(Root));
  uint8_t* buckets = table.pool().base + descriptor->block[descriptor->version & 1];
  std::string saved(reinterpret_cast<const char*>(buckets), 16 * sizeof(Bucket));
  std::memset(buckets, 0xff, saved.size());
  ASSERT_EQ(table.Cut(), POWERCUT_OK);
  std::memcpy(buckets, saved.data(), saved.size());
  for (uint64_t key = 1; key <= 150; ++key) ASSERT_EQ(table.Lookup(key), table.Value(key));
  EXPECT_EQ(table.Damage(), "");
}

// The authors' function adds both halves of a product; 3 times the constant is 2 * 2^64 + 0x9b1f2d77290d0abb.
TEST(TurboHashHashes, MultipliedAsTheAuthorsDo) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened",
                  {{"shards", "2"}, {"buckets", "4"}, {"hash", "multiplied"}}, 8, 8, 1 << 16);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  const uint64_t key = 3, hash = 0x9b1f2d77290d0abb + 2;
  const powercut_bytes bytes = {&key, sizeof key};
  ASSERT_EQ(powercut_target_entry(POWERCUT_TARGET_ABI)->insert(table.handle(), bytes, bytes), POWERCUT_OK);
  const auto* descriptor = reinterpret_cast<const Descriptor*>(table.pool().base + sizeof(Root)) + (hash >> 32 & 1);
  const auto* bucket = reinterpret_cast<const Bucket*>(table.pool().base + descriptor->block[0]) + (hash & 3);
  EXPECT_EQ(bucket->slots[0].key, key);
  EXPECT_EQ(bucket->tags[0], hash >> 16 & 0xff);
  EXPECT_EQ(table.Damage(), "");
}

// Tombstones fill every bucket of a shard, so that no bucket ends a search path: a rewrite at the same size may then
// push an item out of its scope, and must take the next size.
TEST(TurboHashRebuild, TakesTheNextSizeWhereAnItemWouldFallOutOfItsScope) {
  TestTable table(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened",
                  {{"shards", "1"}, {"buckets", "4"}, {"scope", "3"}, {"gc", "manual"}}, 8, 8, 1 << 16);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  larger_rebuilds = 0;
  std::mt19937_64 random(159);
  std::vector<uint64_t> live;
  uint64_t next = 1;
  for (int i = 0; i < 400 && larger_rebuilds == 0; ++i) {
    if (random() % 100 < 60 && live.size() < 46) {
      ASSERT_EQ(table.Insert(next, next), POWERCUT_OK);
      live.push_back(next++);
    } else if (!live.empty()) {
      const size_t at = random() % live.size();
      ASSERT_EQ(table.Erase(live[at]), POWERCUT_OK);
      live.erase(live.begin() + static_cast<ptrdiff_t>(at));
    }
    if (random() % 40 == 0) ASSERT_EQ(table.Maintain("gc"), POWERCUT_OK);
  }
  EXPECT_EQ(larger_rebuilds, 1);
  EXPECT_EQ(table.Contents().size(), live.size());
  for (uint64_t key : live) EXPECT_EQ(table.Lookup(key), table.Value(key));
  EXPECT_EQ(table.Damage(), "");
}

// Values of 1 to 300 bytes against a map: cells of all lengths are taken, freed and taken again, over rewritten shards
// and reopened pools. Verify compares each item with its cell's length.
class TurboHashSizes : public testing::TestWithParam<TestTable::Settings> {};

TEST_P(TurboHashSizes, AgreeWithAMap) {
  const powercut_target* target = powercut_target_entry(POWERCUT_TARGET_ABI);
  TestTable::Settings settings = {{"items", "pointer"}, {"shards", "2"}, {"buckets", "1"}};
  settings.insert(settings.end(), GetParam().begin(), GetParam().end());
  TestTable table(target, "hardened", settings, 16, 300, 1 << 16, 1);
  ASSERT_EQ(table.Format(), POWERCUT_OK);
  ASSERT_EQ(table.Open(), POWERCUT_OK);
  const auto bytes = [](const std::string& text) { return powercut_bytes{text.data(), text.size()}; };
  std::map<std::string, std::string> model;
  std::mt19937_64 random(38);
  int full = 0;
  for (uint64_t step = 0; step < 10'000; ++step) {
    const std::string key = table.Key(1 + random() % 400);
    const std::string value = test::Spread(step, 1 + random() % 300);
    if (random() % 4 == 0) {
      ASSERT_EQ(target->erase(table.handle(), bytes(key)), model.erase(key) != 0 ? POWERCUT_OK : POWERCUT_NOT_FOUND);
    } else {
      powercut_status status = target->update(table.handle(), bytes(key), bytes(value));
      if (status == POWERCUT_NOT_FOUND) status = target->insert(table.handle(), bytes(key), bytes(value));
      if (status == POWERCUT_OK) model[key] = value;
      if (status != POWERCUT_OK) ASSERT_EQ(status, POWERCUT_FULL);
      full += status == POWERCUT_FULL ? 1 : 0;
    }
    char found[300];
    size_t size = 0;
    const auto held = model.find(key);
    const powercut_status status = target->lookup(table.handle(), bytes(key), found, sizeof found, &size);
    ASSERT_EQ(status, held != model.end() ? POWERCUT_OK : POWERCUT_NOT_FOUND);
    if (status == POWERCUT_OK) ASSERT_EQ(std::string(found, size), held->second);
    if (step % 997 == 0) table.Maintain("gc");  // or FULL: no room for a copy of the shard
    if (step % 1999 == 0) ASSERT_EQ(table.Cut(), POWERCUT_OK);
    if (step % 1999 == 0) ASSERT_EQ(table.Damage(), "");
  }
  EXPECT_GT(full, 0);
  const std::multimap<std::string, std::string> items(model.begin(), model.end());
  EXPECT_EQ(table.Contents(), items);
  const std::string longer(301, 'x'), key = table.Key(1);
  EXPECT_EQ(target->insert(table.handle(), bytes(key), bytes(longer)), POWERCUT_TOO_LARGE);
  EXPECT_EQ(table.Contents(), items);
}

INSTANTIATE_TEST_SUITE_P(Options, TurboHashSizes,
                         testing::Values(TestTable::Settings{}, TestTable::Settings{{"allocator", "threads"}},
                                         TestTable::Settings{{"transactions", "on"}},
                                         TestTable::Settings{{"allocator", "threads"},
                                                             {"transactions", "on"},
                                                             {"reclaim", "pool"},
                                                             {"concurrency", "concurrent"}}));

}  // namespace
}  // namespace powercut::turbohash

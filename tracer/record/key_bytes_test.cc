#include "tracer/record/key_bytes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace powercut {
namespace {

uint64_t word(const std::vector<uint8_t>& bytes, size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, 8);
  return value;
}

TEST(KeyBytes, AreTheSplitmixFinaliserOfEachChunk) {
  // The first outputs of splitmix64 seeded with 0 are mix(1 * step), mix(2 * step), ...
  EXPECT_EQ(mix(0x9E3779B97F4A7C15), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(mix(2 * 0x9E3779B97F4A7C15), 0x6E789E6AA1B965F4u);
  std::vector<uint8_t> key = key_bytes(5, 20);
  ASSERT_EQ(key.size(), 20u);
  EXPECT_EQ(word(key, 0), mix(5));
  EXPECT_EQ(word(key, 8), mix(5 + 0x9E3779B97F4A7C15));
  EXPECT_EQ(0, std::memcmp(key.data() + 16, key_bytes(5, 24).data() + 16, 4));
  EXPECT_EQ(value_bytes(5, 16), key_bytes(5 + (uint64_t{1} << 32), 16));
}

TEST(KeyBytes, GoBothWays) {
  for (uint64_t id :
       {uint64_t{1}, uint64_t{2}, uint64_t{1000}, uint64_t{1} << 31, kMaxNumberedKey, kZerosKey, kOnesKey}) {
    for (uint32_t size : {8u, 15u, 16u, 64u}) {
      EXPECT_EQ(key_id(key_bytes(id, size)), id);
      EXPECT_EQ(value_serial(value_bytes(id, size)), id);
      EXPECT_EQ(value_serial(key_bytes(id, size)), std::nullopt);
      EXPECT_EQ(key_id(value_bytes(id, size)), std::nullopt);
    }
  }
  for (uint64_t value = 1; value < 1000; ++value)
    EXPECT_EQ(unmix(mix(value * 0x123456789ABCDEF)), value * 0x123456789ABCDEF);
}

TEST(KeyBytes, ZerosAndOnesAreWhatTheirNamesSay) {
  for (uint32_t size : {8u, 15u, 64u}) {
    EXPECT_EQ(key_bytes(kZerosKey, size), std::vector<uint8_t>(size, 0x00));
    EXPECT_EQ(key_bytes(kOnesKey, size), std::vector<uint8_t>(size, 0xff));
  }
  for (uint64_t id : {uint64_t{1}, kMaxNumberedKey, kZerosKey, kOnesKey}) {
    const std::string name = key_name(id);
    EXPECT_EQ(named_key(name), id <= kMaxNumberedKey ? std::nullopt : std::optional(id)) << name;
  }
  EXPECT_EQ(key_name(kZerosKey), "zeros");
  EXPECT_EQ(key_name(kOnesKey), "ones");
  EXPECT_EQ(key_name(kMaxNumberedKey), "4294967293");
  // Almost zeros, almost ones, too short to be anyone's, and what a number of these ids would have been.
  std::vector<uint8_t> zeros(16, 0x00), ones(16, 0xff);
  zeros.back() = 1;
  ones.front() = 0xfe;
  EXPECT_EQ(key_id(zeros), std::nullopt);
  EXPECT_EQ(key_id(ones), std::nullopt);
  EXPECT_EQ(key_id(std::vector<uint8_t>()), std::nullopt);
  EXPECT_EQ(key_id(std::vector<uint8_t>(7, 0)), std::nullopt);
  for (uint64_t id : {kZerosKey, kOnesKey}) {
    std::vector<uint8_t> mixed(8);
    const uint64_t bytes = mix(id);
    std::memcpy(mixed.data(), &bytes, 8);
    EXPECT_EQ(key_id(mixed), std::nullopt);
  }
}

TEST(KeyBytes, TornBytesAreNobodys) {
  std::vector<uint8_t> torn = value_bytes(7, 16);
  std::memcpy(torn.data(), value_bytes(8, 16).data(), 8);
  EXPECT_EQ(value_serial(torn), std::nullopt);
  EXPECT_EQ(value_serial(std::vector<uint8_t>(16, 0)), std::nullopt);
  EXPECT_EQ(key_id(std::vector<uint8_t>(4, 1)), std::nullopt);
}

TEST(KeyBytes, EveryAtomDiffers) {
  std::set<uint64_t> atoms;
  for (uint64_t id = 1; id <= 1000; ++id) {
    for (const std::vector<uint8_t>& bytes : {key_bytes(id, 16), value_bytes(id, 16)}) {
      atoms.insert(word(bytes, 0));
      atoms.insert(word(bytes, 8));
    }
  }
  EXPECT_EQ(atoms.size(), 4000u);
}

}  // namespace
}  // namespace powercut

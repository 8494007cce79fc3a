// The comparison of pools with what their stores say.
#include "tracer/stream/pool_shadow.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace powercut {
namespace {

std::span<const uint8_t> bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(PoolShadow, TellsWhichBytesDiffer) {
  PoolShadow shadow;
  shadow.store(1, 4090, bytes("0123456789"));  // over the end of a page
  PoolDifference none, some;
  shadow.compare(1, 4090, bytes("0123456789"), &none);
  EXPECT_EQ(none.bytes, 0u);
  shadow.compare(1, 4090, bytes("01xx45678x"), &some);
  EXPECT_EQ(some.bytes, 3u);
  EXPECT_EQ(some.places, 2u);
  EXPECT_EQ(some.text(), "3 bytes in 2 places, the first at 4092,");
  // Taken over.
  EXPECT_TRUE(shadow.same(1, 4090, bytes("01xx45678x")));
  // Another pool is zeros.
  EXPECT_TRUE(shadow.same(0, 4090, bytes(std::string(10, '\0'))));
}

TEST(PoolShadow, WhatIsCutOffIsZeros) {
  PoolShadow shadow;
  shadow.store(0, 0, bytes(std::string(9000, 'a')));
  shadow.zero_from(0, 4097);
  EXPECT_TRUE(shadow.same(0, 4090, bytes(std::string(7, 'a') + std::string(5000, '\0'))));
}

TEST(PoolShadow, AFileIsComparedWithItsHolesUpToItsEnd) {
  std::string path = std::filesystem::temp_directory_path() / "powercut-shadow-XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_EQ(ftruncate(fd, 1 << 20), 0);
  ASSERT_EQ(pwrite(fd, "abc", 3, 8192), 3);
  PoolShadow shadow;
  shadow.store(0, 8192, bytes("abc"));
  shadow.store(0, 1 << 20, bytes("behind the end"));
  PoolDifference difference;
  ASSERT_EQ(compare_file(path, 0, &shadow, &difference), FileComparison::kDone);
  EXPECT_EQ(difference.bytes, 0u);
  // Data where no store was, and a store where there is a hole.
  ASSERT_EQ(pwrite(fd, "xy", 2, 40000), 2);
  shadow.store(0, 500000, bytes("z"));
  ASSERT_EQ(compare_file(path, 0, &shadow, &difference), FileComparison::kDone);
  EXPECT_EQ(difference.bytes, 3u);
  EXPECT_EQ(difference.first, 40000u);
  close(fd);
  unlink(path.c_str());
  EXPECT_EQ(compare_file(path, 0, &shadow, &difference), FileComparison::kGone);
}

TEST(PoolShadow, WhatIsNoRegularFileIsNotCompared) {
  PoolShadow shadow;
  PoolDifference difference;
  EXPECT_EQ(compare_file("/", 0, &shadow, &difference), FileComparison::kUnreadable);
  EXPECT_EQ(compare_file("/dev/zero", 0, &shadow, &difference), FileComparison::kUnreadable);
  std::string folder = std::filesystem::temp_directory_path() / "powercut-shadow-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(compare_file(pipe, 0, &shadow, &difference), FileComparison::kUnreadable);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace powercut

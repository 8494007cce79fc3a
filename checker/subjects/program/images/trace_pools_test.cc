#include "checker/subjects/program/images/trace_pools.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace powercut {
namespace {

using ::testing::HasSubstr;

TEST(TracePools, ReadsWindowsInTheirOrder) {
  auto pools = pools_of_trace(
      R"({"program": {"pools": [{"path": "/b", "offset": 4096, "size": 100, "address": 99},
                                {"path": "/a", "offset": 0, "size": 4096}]}, "pool": {"base": 0, "size": 8192}})",
      "t.pct", "");
  ASSERT_TRUE(pools.ok()) << pools.error().message();
  ASSERT_EQ(pools->windows.size(), 2u);
  EXPECT_EQ(pools->windows[0].path, "/a");
  EXPECT_EQ(pools->windows[1].size, 100u);
  EXPECT_EQ(pools->windows[1].address, 99u);
  EXPECT_EQ(pools->space, 8192u);
}

TEST(TracePools, TakesThePathOfAPoolThatHasNone) {
  const std::string metadata = R"({"pool": {"base": 5, "size": 1000}})";
  auto pools = pools_of_trace(metadata, "t.pct", "/some/where/../pool");
  ASSERT_TRUE(pools.ok());
  EXPECT_EQ(pools->windows[0].path, "/some/pool");
  EXPECT_EQ(pools->space, 1024u);
  EXPECT_THAT(pools_of_trace(metadata, "t.pct", "").error().next, HasSubstr("--pool-path"));
}

TEST(TracePools, RefusesWhatMakesNoSense) {
  const auto what = [](const std::string& metadata) {
    auto pools = pools_of_trace(metadata, "t.pct", "/pool");
    return pools.ok() ? "" : pools.error().message();
  };
  EXPECT_THAT(what("[]"), HasSubstr("JSON object"));
  EXPECT_THAT(what("{"), HasSubstr("JSON object"));
  EXPECT_THAT(what("{}"), HasSubstr("no pool"));
  EXPECT_THAT(what(R"({"program": {"pools": 3}})"), HasSubstr("not a list"));
  EXPECT_THAT(what(R"({"program": {"pools": [{"path": "/a", "offset": 5, "size": 1}]}})"), HasSubstr("offset"));
  EXPECT_THAT(what(R"({"program": {"pools": [{"path": "/a", "offset": 0, "size": -1}]}})"), HasSubstr("size"));
  EXPECT_THAT(what(R"({"program": {"pools": [{"path": "/a", "offset": 0, "size": 99999999999999999}]}})"),
              HasSubstr("size"));
  EXPECT_THAT(what(R"({"program": {"pools": [{"path": "/a", "offset": 0, "size": 9000},
                                             {"path": "/b", "offset": 8192, "size": 1}]}})"),
              HasSubstr("overlap"));
}

}  // namespace
}  // namespace powercut

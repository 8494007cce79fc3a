// Tests the statements of an exploration about crash states that it has not covered, and about findings that need no
// power cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "base/test_support.h"

namespace powercut {
namespace {

using testing::EngineRun;
using testing::phase_json;
using testing::plan_json;
using testing::record;
using testing::run_engine;
using testing::TemporaryFolder;

EngineRun explore_inserts(const std::string& misbehave, std::vector<std::string> more = {}) {
  TemporaryFolder folder;
  const Json warm_up = phase_json({{{"op", "insert"}, {"from", 1}, {"to", 1}}}, false);
  const Json plan = plan_json({warm_up, phase_json({{{"op", "insert"}, {"from", 2}, {"to", 2}}})},
                              {{"misbehave", misbehave}, {"capacity", "8"}});
  const EngineRun recorded = record(folder, plan);
  EXPECT_EQ(recorded.exit, 0) << recorded.output;
  std::vector<std::string> arguments = {"explore", "--trace", folder.file("run.pct")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_engine(arguments);
}

// A line with more contents than are kept: what is left out was not judged, so the run must not say `complete`.
TEST(Exploration, ATruncatedSetIsNotComplete) {
  const EngineRun well = explore_inserts("");
  ASSERT_EQ(well.exit, kExitOk) << well.output;
  ASSERT_EQ(well.event("result")["coverage"]["kind"], "complete");
  const EngineRun run = explore_inserts("many");
  EXPECT_EQ(run.exit, kExitUnknown) << run.output;
  EXPECT_EQ(run.event("result")["coverage"]["kind"], "sampled");
}

// A set of lines that recovery itself leaves pending, when the power fails again, may be truncated as well.
TEST(Exploration, ATruncatedSetOfANestedCutIsNotComplete) {
  const EngineRun run = explore_inserts("open_many", {"--nested", "1"});
  EXPECT_EQ(run.exit, kExitUnknown) << run.output;
  EXPECT_EQ(run.event("result")["coverage"]["kind"], "sampled");
  const EngineRun once = explore_inserts("open_many", {"--nested", "0"});
  EXPECT_EQ(once.event("result")["coverage"]["kind"], "complete") << once.output;
}

}  // namespace
}  // namespace powercut

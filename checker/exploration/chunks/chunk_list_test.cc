// Chunks explored alone, in any order and by several processes, come to the result of one exploration.
#include "checker/exploration/chunks/chunk_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/test_support.h"

namespace powercut {
namespace {

using testing::EngineRun;
using ::testing::HasSubstr;
using testing::phase_json;
using testing::plan_json;
using testing::record;
using testing::run_engine;
using testing::TemporaryFolder;

using Words = std::vector<std::string>;

EngineRun explore(const TemporaryFolder& folder, Words more) {
  Words arguments = {"explore", "--trace", folder.file("run.pct"), "--chunk-events", "40"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_engine(arguments);
}

// The update is not crash-consistent: there are findings in several chunks.
void record_updates(const TemporaryFolder& folder) {
  const Json plan = plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 8}}}, false),
                               phase_json({{{"op", "update"}, {"from", 1}, {"to", 8}},
                                           {{"op", "insert"}, {"from", 9}, {"to", 16}},
                                           {{"op", "erase"}, {"from", 3}, {"to", 12}},
                                           {{"op", "lookup"}, {"from", 1}, {"to", 16}}})});
  const EngineRun recorded = record(folder, plan);
  ASSERT_EQ(recorded.exit, 0) << recorded.output;
}

// Everything that is told, except for the order of findings and the numbers of a clock.
std::vector<std::string> told(const EngineRun& run) {
  std::map<std::string, Json> findings;
  std::vector<std::string> out;
  for (Json event : run.events) {
    if (event["event"] == "progress") continue;
    if (event["event"] == "finding") {
      findings[event["key"]] = event;
      continue;
    }
    for (const char* name : {"seconds", "exploring_seconds", "stats"}) event.erase(name);
    out.push_back(event.dump());
  }
  for (const auto& [key, finding] : findings) out.push_back(finding.dump());
  return out;
}

TEST(ChunkList, PartsOfATraceComeToTheResultOfAll) {
  for (const Words& options :
       std::vector<Words>{{}, {"--model", "eadr"}, {"--strategy", "random"}, {"--nested", "0"}}) {
    SCOPED_TRACE(::testing::PrintToString(options));
    TemporaryFolder folder;
    record_updates(folder);
    const auto with = [&options](Words more) {
      more.insert(more.end(), options.begin(), options.end());
      return more;
    };
    const EngineRun listed = explore(folder, with({"--list-chunks"}));
    ASSERT_EQ(listed.exit, kExitOk) << listed.output;
    const Json list = listed.event("chunks");
    const auto firsts = list["firsts"].get<std::vector<uint64_t>>();
    ASSERT_GE(firsts.size(), 4u);
    const EngineRun whole = explore(folder, with({}));
    EXPECT_EQ(whole.event("result")["crash_points"], list["crash_points"]);
    // The last part comes first, and then a part that the trace does not have.
    Words taking;
    uint64_t explored = 0;
    for (const auto& [first, end] : std::vector<std::pair<size_t, size_t>>{{3, 99}, {1, 3}, {0, 1}, {99, 100}}) {
      const std::string file = folder.file("part" + std::to_string(first));
      const EngineRun part =
          explore(folder, with({"--chunks", std::to_string(first) + ":" + std::to_string(end), "--checkpoint", file}));
      EXPECT_EQ(part.exit, kExitOk) << part.output;
      EXPECT_EQ(part.event("explored")["all"], true);
      for (const Json& event : part.events) {
        if (event["event"] != "chunk") continue;
        EXPECT_GE(event["number"], first);
        EXPECT_LT(event["number"], end);
        explored += event["crash_points"].get<uint64_t>();
      }
      taking.insert(taking.end(), {"--take", file});
    }
    EXPECT_EQ(explored, list["crash_points"]);
    const EngineRun merged = explore(folder, with(taking));
    EXPECT_EQ(told(merged), told(whole));
    EXPECT_EQ(merged.event("result")["stats"]["run"].value("fork", 0.0), 0) << "something was explored again";
    // A run with --take then explores the chunks that nobody has explored.
    EXPECT_EQ(told(explore(folder, with({"--take", folder.file("part1")}))), told(whole));
  }
}

TEST(ChunkList, ABudgetInExecutionsCountsAsInOneExploration) {
  TemporaryFolder folder;
  record_updates(folder);
  // The budget is half of the whole run's executions, so that the run ends early.
  const uint64_t all = explore(folder, {}).event("result")["executions"];
  const Words budget = {"--budget-executions", std::to_string(all / 2)};
  const auto with = [&budget](Words more) {
    more.insert(more.end(), budget.begin(), budget.end());
    return more;
  };
  Words taking;
  for (const char* range : {"0:2", "2:99"}) {
    const std::string file = folder.file(std::string("part") + range[0]);
    EXPECT_EQ(explore(folder, with({"--chunks", range, "--checkpoint", file})).exit, kExitOk);
    taking.insert(taking.end(), {"--take", file});
  }
  const EngineRun whole = explore(folder, with({}));
  EXPECT_EQ(whole.event("result")["coverage"]["kind"], "sampled");
  EXPECT_EQ(told(explore(folder, with(taking))), told(whole));
}

TEST(ChunkList, WhatDoesNotFitIsRefused) {
  TemporaryFolder folder;
  record_updates(folder);
  const std::string file = folder.file("part");
  for (const auto& [words, said] : std::vector<std::pair<Words, std::string>>{
           {{"--chunks", "3:3", "--checkpoint", file}, "is no range of chunks"},
           {{"--chunks", "0-3", "--checkpoint", file}, "is no range of chunks"},
           {{"--chunks", "0:3"}, "nowhere to put"},
           {{"--chunks", "0:3", "--checkpoint", file, "--budget-seconds", "5"}, "budget in seconds"},
           {{"--take", folder.file("none")}, "cannot be read"}}) {
    const EngineRun run = explore(folder, words);
    EXPECT_EQ(run.exit, kExitUsage) << run.output;
    EXPECT_THAT(run.event("error")["what"].get<std::string>(), HasSubstr(said));
  }
  EXPECT_EQ(explore(folder, {"--chunks", "0:1", "--checkpoint", file}).exit, kExitOk);
  const EngineRun other = explore(folder, {"--take", file, "--nested", "0"});
  EXPECT_EQ(other.exit, kExitUsage);
  EXPECT_THAT(other.event("error")["what"].get<std::string>(), HasSubstr("differs in nested"));
}

TEST(ChunkList, ChunksOfALongTraceGrowInNumber) {
  const ExploreOptions options;
  EXPECT_EQ(chunk_events(options, 1000), 8192u);
  EXPECT_EQ(chunk_events(options, 800'000), 100'000u);
  EXPECT_EQ(chunk_events(options, 10'000'000'000), chunk_events(options, 1'000'000'000));
  ExploreOptions given;
  given.chunk_events = 77;
  EXPECT_EQ(chunk_events(given, 1000), 77u);
}

}  // namespace
}  // namespace powercut

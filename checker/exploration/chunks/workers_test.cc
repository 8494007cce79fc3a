// Workers that die, leave or hang: the verdict is unknown, and nothing that was found is lost.
#include "checker/exploration/chunks/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

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

// The third insert makes `open` misbehave in images that hold it, until it is erased again. The update before is not
// crash-consistent, which is a finding of its own.
EngineRun explore(const std::string& misbehave, std::vector<std::string> more = {}) {
  TemporaryFolder folder;
  const Json plan = plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 2}}}, false),
                               phase_json({{{"op", "update"}, {"keys", {1}}},
                                           {{"op", "insert"}, {"from", 3}, {"to", 3}},
                                           {{"op", "erase"}, {"from", 3}, {"to", 3}},
                                           {{"op", "lookup"}, {"from", 1}, {"to", 2}}})},
                              {{"misbehave", misbehave}, {"capacity", "4"}});
  const EngineRun recorded = record(folder, plan);
  EXPECT_EQ(recorded.exit, 0) << recorded.output;
  std::vector<std::string> arguments = {"explore", "--trace", folder.file("run.pct"), "--watchdog-seconds", "0.3"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_engine(arguments);
}

std::vector<std::string> finding_keys(const EngineRun& run) {
  std::vector<std::string> out;
  for (const Json& event : run.events) {
    if (event["event"] == "finding") out.push_back(event["key"]);
  }
  return out;
}

TEST(Workers, WhatWasFoundBeforeAWorkerDiedIsKept) {
  const EngineRun well = explore("");
  ASSERT_EQ(well.exit, kExitFindings) << well.output;
  ASSERT_EQ(well.event("result")["coverage"]["kind"], "complete");
  for (const auto& [how, said] :
       std::vector<std::pair<std::string, std::string>>{{"open_exit", "left with exit status 7"},
                                                        {"open_kill", "died of SIGKILL"},
                                                        {"open_sleep", "was given up"}}) {
    SCOPED_TRACE(how);
    const EngineRun run = explore(how);
    EXPECT_EQ(run.exit, kExitFindings) << run.output;
    const Json result = run.event("result");
    EXPECT_EQ(result["verdict"], "inconsistent");
    EXPECT_EQ(result["coverage"]["kind"], "sampled");
    EXPECT_THAT(result["coverage"]["reason"].get<std::string>(), HasSubstr(said));
    // The update's findings lie before the misbehaviour. A torn value is announced once, however often its chunk is
    // done.
    const auto keys = finding_keys(run);
    EXPECT_FALSE(keys.empty());
    for (const std::string& key : keys) EXPECT_THAT(finding_keys(well), ::testing::Contains(key));
  }
}

// The result without the numbers of a clock.
Json stable(const EngineRun& run) {
  Json result = run.event("result");
  for (const char* name : {"seconds", "exploring_seconds", "stats"}) result.erase(name);
  return result;
}

TEST(Workers, AChunkInTheMiddleOfTheTraceIsDoneAgainWhateverTheJobs) {
  Json first;
  std::set<std::string> found;
  for (const char* jobs : {"1", "2", "5"}) {
    const EngineRun run = explore("open_kill", {"--chunk-events", "12", "--jobs", jobs});
    EXPECT_EQ(run.exit, kExitFindings) << run.output;
    const auto keys = finding_keys(run);
    if (first.is_null()) {
      first = stable(run);
      found = {keys.begin(), keys.end()};
      EXPECT_GT(first["executions"], 0);
      EXPECT_GT(first["not_checked"]["notes"].size(), 1u) << "no worker died";
    }
    EXPECT_EQ(stable(run), first) << "--jobs " << jobs;
    EXPECT_EQ(std::set(keys.begin(), keys.end()), found) << "--jobs " << jobs;
  }
}

TEST(Workers, ADumpHasEveryCrashPointOnceAndInOrder) {
  TemporaryFolder folder;
  const auto dump_of = [&](const std::string& misbehave, const std::string& chunk_events) {
    const std::string file = folder.file("results");
    const EngineRun run = explore(misbehave, {"--chunk-events", chunk_events, "--jobs", "3", "--dump-results", file});
    EXPECT_EQ(run.exit, kExitFindings) << run.output;
    return testing::read_file(file);
  };
  const std::string whole = dump_of("", "0");
  EXPECT_FALSE(whole.empty());
  EXPECT_EQ(dump_of("", "10"), whole);
  // The lines that a worker wrote before it died are not there twice.
  std::istringstream lines(dump_of("open_kill", "10"));
  uint64_t last = 0;
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(seen.insert(line).second) << line;
    EXPECT_GE(std::stoull(line), last) << line;
    last = std::stoull(line);
  }
}

TEST(Workers, WithoutAFindingTheVerdictIsUnknown) {
  TemporaryFolder folder;
  const Json plan =
      plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 2}}}, false),
                 phase_json({{{"op", "insert"}, {"from", 3}, {"to", 3}}, {{"op", "erase"}, {"from", 3}, {"to", 3}}})},
                {{"misbehave", "open_kill"}, {"capacity", "4"}});
  ASSERT_EQ(record(folder, plan).exit, 0);
  const EngineRun run = run_engine({"explore", "--trace", folder.file("run.pct")});
  EXPECT_EQ(run.exit, kExitUnknown) << run.output;
  EXPECT_EQ(run.event("result")["verdict"], "unknown");
  EXPECT_FALSE(run.event("result")["not_checked"]["notes"].empty());
}

TEST(Workers, ABudgetInExecutionsStopsAtTheSameChunkWhateverTheJobs) {
  TemporaryFolder folder;
  const Json plan =
      plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 60}},
                             {{"op", "update"}, {"from", 1}, {"to", 60}},
                             {{"op", "lookup"}, {"from", 1}, {"to", 60}},
                             {{"op", "update"}, {"from", 1}, {"to", 60}},
                             {{"op", "erase"}, {"from", 1}, {"to", 60}}})});  // more than one chunk of crash points
  ASSERT_EQ(record(folder, plan).exit, 0);
  Json first;
  for (const char* jobs : {"1", "2", "3"}) {
    const EngineRun run =
        run_engine({"explore", "--trace", folder.file("run.pct"), "--budget-executions", "1", "--jobs", jobs});
    const Json result = stable(run);
    EXPECT_EQ(result["coverage"]["kind"], "sampled");
    if (first.is_null()) first = result;
    EXPECT_EQ(result, first) << "--jobs " << jobs;
  }
}

}  // namespace
}  // namespace powercut

// Tests which crash states the walks cover, and how far they go.
#include <map>
#include <set>

#include "checker/subjects/program/test_program.h"

namespace powercut {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::tracer_json;

// A second cut, inside recovery, undoes what it had not made durable; one finding, with the record that shows it.
TEST_F(ProgramCommand, CutsRecoveryItself) {
  write(logged());
  const std::vector<std::string> nested = {"--nested", "1", "--trace-prefix", tracer_json()};
  const auto with = [&](const std::string& how, std::vector<std::string> more) {
    more.insert(more.begin(), {"--recover", command_json({"undo", "{image}", how})});
    return run(more);
  };
  EXPECT_EQ(with("late", {}).result()["verdict"], "consistent") << "one cut does not show it";
  const Told late = with("late", nested);
  EXPECT_EQ(late.result()["verdict"], "inconsistent");
  ASSERT_EQ(late.of("finding").size(), 1u);
  const Json finding = late.of("finding")[0];
  EXPECT_EQ(finding["crash_point"]["depth"], 1);
  EXPECT_EQ(finding["crash_point"]["nested_event"], 2) << "both of recovery's stores were made";
  EXPECT_EQ(finding["nested_image"][0]["recovery_stores"].size(), 2u);
  const std::string path = file_.folder() + "/finding";
  std::ofstream(path) << finding.dump();
  const Told again =
      finish(start({"--recover", command_json({"undo", "{image}", "late"}), "--finding", path}, "program-image"));
  EXPECT_EQ(again.of("imaged")[0]["runs"][0]["code"], 5);

  const Told early = with("early", nested);
  EXPECT_EQ(early.result()["verdict"], "consistent");
  EXPECT_EQ(early.result()["coverage"]["kind"], "complete");
  EXPECT_EQ(early.result()["coverage"]["nested_complete"], true);
  const Told untraced = with("early", {"--nested", "1"});
  EXPECT_EQ(untraced.result()["coverage"]["nested_complete"], false) << "nobody knows what recovery stored";
}

// A budget is spent on all crash points, and not on the first that has many images.
TEST_F(ProgramCommand, GoesWideBeforeItGoesDeep) {
  write(heavy_and_early_end());
  const Told told = run_recovery("check", {"--budget-executions", "3000"});
  EXPECT_EQ(told.exit, kExitFindings);
  EXPECT_EQ(told.result()["coverage"]["kind"], "sampled");
  EXPECT_EQ(told.of("finding").size(), 4u);
}

TEST_F(ProgramCommand, CountsTheOperationsThatAreComplete) {
  write(heavy_and_early_end());
  const Json operations = run_recovery("check").result()["coverage"]["operations"];
  EXPECT_EQ(operations["all"], 3);
  EXPECT_EQ(operations["complete"], 2);
  write(missing_fence());
  EXPECT_TRUE(run_recovery("check").result()["coverage"]["operations"].is_null()) << "nothing is marked";
}

TEST_F(ProgramCommand, FindsTheLostLine) {
  write(missing_fence());
  const Told told = run_recovery("check");
  EXPECT_EQ(told.exit, kExitFindings);
  EXPECT_EQ(told.result()["verdict"], "inconsistent");
  EXPECT_EQ(told.result()["coverage"]["kind"], "complete");
  const auto findings = told.of("finding");
  // There is one for each of the four lines that may be lost.
  ASSERT_EQ(findings.size(), 4u);
  std::set<std::string> keys;
  for (const Json& finding : findings) {
    keys.insert(finding["key"]);
    EXPECT_EQ(finding["invariant"], "recovery-failed");
    EXPECT_EQ(finding["found"], "exit status 3");
    EXPECT_THAT(finding["message"].get<std::string>(), HasSubstr("item 2 has no part"));
    EXPECT_EQ(finding["query"]["kind"], "program");
    EXPECT_EQ(finding["crash_point"]["when"], "before sfence");
    std::vector<std::string> lost, persisted;
    for (const Json& store : finding["stores"]) {
      if (!store["decisive"].get<bool>()) continue;
      (store["fate"] == "lost" ? lost : persisted).push_back(std::to_string(store["offset"].get<uint64_t>()));
    }
    EXPECT_EQ(lost.size(), 1u);
    EXPECT_THAT(persisted, ElementsAre("64"));  // the count that made the item valid
    EXPECT_EQ(finding["timeline"]["lines"].size(), 2u);
  }
  EXPECT_EQ(keys.size(), 4u);
  EXPECT_FALSE(has_work());
}

TEST_F(ProgramCommand, ACleanProgramIsComplete) {
  Program program;
  for (uint64_t item = 1; item <= 4; ++item) {
    program.begin(item);
    program.item(item, true);
    program.count(item);
    program.persist(64);
    program.end();
  }
  write(program);
  const Told told = run_recovery("check", {"--dump", command_json({"dump", "{image}"})});
  EXPECT_EQ(told.exit, kExitOk) << told.events.back().dump();
  const auto [points, states] = counted(trace());
  EXPECT_EQ(told.result()["crash_points"], points);
  EXPECT_EQ(told.result()["crash_states"], states.str());
  EXPECT_EQ(told.result()["coverage"]["covered"], states.str());
  EXPECT_EQ(told.result()["coverage"]["nested_complete"], 0);
  EXPECT_EQ(told.result()["coverage"]["acknowledged"], true);
  EXPECT_EQ(run_recovery("check").result()["coverage"]["acknowledged"], false);
}

TEST_F(ProgramCommand, OnceSomethingIsFoundALaterPartOfTheBudgetIsForItsCause) {
  const std::vector<std::string> found_at_once = {"--budget-seconds", "1000", "--budget-found", "0.000001"};
  std::vector<std::string> words = {"--dump", command_json({"dump", "{image}"})};
  words.insert(words.end(), found_at_once.begin(), found_at_once.end());
  Program program = early_end();
  program.persist(64);
  program.item(3, true);  // there is more to explore behind the finding
  write(program);
  const Told told = run_recovery("check", words);
  EXPECT_EQ(told.result()["coverage"]["kind"], "sampled");
  EXPECT_THAT(told.result()["coverage"]["reason"].get<std::string>(), HasSubstr("budget"));
  EXPECT_EQ(told.of("finding").size(), 1u);
  // Without a finding, the whole budget is for exploring.
  EXPECT_EQ(run_recovery("check", found_at_once).result()["coverage"]["kind"], "complete");
}

TEST_F(ProgramCommand, TellsOfItsPhasesAndOfAllCrashPoints) {
  write(early_end());
  const Told told = run_recovery("check", {"--dump", command_json({"dump", "{image}"})});
  std::vector<std::string> phases;
  for (const Json& progress : told.of("progress")) {
    EXPECT_EQ(progress["of"], told.result()["crash_points"]);
    const auto phase = progress["phase"].get<std::string>();
    if (phases.empty() || phases.back() != phase) phases.push_back(phase);
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"observing", "exploring"}));
}

TEST_F(ProgramCommand, SeveralPools) {
  Program program;
  program.store(0, 7);
  program.store(4096, 8);
  program.write(trace(), R"([{"path": "/nowhere/pool", "offset": 0, "size": 4096},
                             {"path": "/elsewhere/pool", "offset": 4096, "size": 100}])");
  // Both images have the pool's name, and each holds the right bytes.
  const Told told = run({"--recover", command_json({"exit", "{image:1}", "0"}), "--dump",
                         command_json({"first", "{image:1}"}), "--check", command_json({"first", "{image:0}"})});
  EXPECT_EQ(told.exit, kExitOk);
  EXPECT_EQ(told.result()["crash_states"], "4");
}

TEST_F(ProgramCommand, TheSameForAnyNumberOfJobs) {
  Program program;
  for (uint64_t item = 1; item <= 3; ++item) {
    program.item(item, item != 2);
    program.count(item);
    program.persist(64);
  }
  write(program);
  const auto untimed = [](Told told) {
    std::string out;
    for (Json& event : told.events) {
      if (event["event"] == "progress") continue;
      // The number of repetitions depends on the time that they take.
      for (const char* name : {"seconds", "jobs", "repeats"}) event.erase(name);
      out += event.dump() + "\n";
    }
    return out;
  };
  const std::string one = untimed(run_recovery("check", {"--jobs", "1"}));
  EXPECT_EQ(one, untimed(run_recovery("check", {"--jobs", "3"})));
}

TEST_F(ProgramCommand, TooManyImagesAreSampled) {
  Program program;
  for (uint64_t item = 1; item <= 5; ++item) program.item(item, false);
  program.fence();
  write(program);
  const Told told = run_recovery("check", {"--images", "50"});
  EXPECT_EQ(told.exit, kExitUnknown);
  EXPECT_EQ(told.result()["coverage"]["kind"], "sampled");
  EXPECT_THAT(told.result()["coverage"]["reason"].get<std::string>(), HasSubstr("--images"));
  const Told traced = run_recovery("check", {"--images", "50", "--trace-prefix", tracer_json()});
  EXPECT_EQ(traced.exit, kExitOk) << traced.result()["not_checked"];
  EXPECT_EQ(traced.result()["coverage"]["kind"], "complete");
  EXPECT_EQ(traced.result()["coverage"]["covered"], counted(trace()).second.str());
  // The count is zero throughout: no item is ever read.
  EXPECT_EQ(traced.result()["behaviours"], 1);
  EXPECT_EQ(traced.result()["not_checked"]["notes"].size(), 1u);
}

#ifdef POWERCUT_TEST_REPORTING
// A recovery that says itself what it reads; as under the tool, what is not read is not tried.
TEST_F(ProgramCommand, TooManyImagesAreOneReportedBehaviour) {
  Program program;
  for (uint64_t item = 1; item <= 5; ++item) program.item(item, false);
  program.fence();
  write(program);
  for (const char* recovery : kReporting) {
    const Told told =
        run({"--recover", command_json({"check", "{image}"}, recovery), "--images", "50", "--report-reads"});
    EXPECT_EQ(told.exit, kExitOk) << told.result()["not_checked"];
    EXPECT_EQ(told.result()["coverage"]["covered"], counted(trace()).second.str());
    EXPECT_EQ(told.result()["behaviours"], 1);
  }
}
#endif

}  // namespace
}  // namespace powercut

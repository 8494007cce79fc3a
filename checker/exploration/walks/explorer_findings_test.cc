// Tests which outcomes are findings, and the contents of findings.
#include "checker/subjects/program/test_program.h"

namespace powercut {
namespace {

using ::testing::HasSubstr;

TEST_F(ProgramCommand, AnAcknowledgedItemIsLost) {
  write(early_end());
  const Told told = run_recovery("check", {"--dump", command_json({"dump", "{image}"})});
  const auto findings = told.of("finding");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0]["invariant"], "lost-item");
  EXPECT_THAT(findings[0]["message"].get<std::string>(), HasSubstr("after 1 operation, but 2 had ended"));
  EXPECT_EQ(findings[0]["found"], "1 100");
  EXPECT_EQ(findings[0]["expected"], Json::array({"1 100\n2 200"}));
  EXPECT_EQ(findings[0]["operation"]["key"], "c");
}

// The expected output is not known then, though operations are marked.
TEST_F(ProgramCommand, ARecoveryThatAlwaysFailsIsNoMissingMark) {
  write(early_end());
  const Told told =
      run({"--recover", command_json({"exit", "{image}", "4"}), "--dump", command_json({"dump", "{image}"})});
  EXPECT_EQ(told.of("finding")[0]["invariant"], "recovery-failed");
  EXPECT_THAT(told.result()["not_checked"]["notes"].dump(), HasSubstr("fails where each operation has ended"));
}

// A finding names the first step whose output is wrong, with its command.
TEST_F(ProgramCommand, WhatProbesPrintIsJudged) {
  write(early_end());
  const std::vector<std::string> probes = {"--probe", command_json({"exit", "{image}", "0"}), "--probe",
                                           command_json({"dump", "{image}"})};
  const Told told = run_recovery("check", probes);
  const auto findings = told.of("finding");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0]["invariant"], "lost-item");
  EXPECT_THAT(findings[0]["message"].get<std::string>(),
              HasSubstr("dump {image}') is that after 1 operation, but 2 had ended: '2 200' is missing"));
  EXPECT_THAT(findings[0]["query"]["text"].get<std::string>(), ::testing::MatchesRegex("probe 2: .* dump \\{image\\}"));
  EXPECT_EQ(findings[0]["contents"]["actual"], Json::array({Json::array({"probe 2", "1 100"})}));
  // The dump shows the finding first, under the name that the finding has without probes.
  const std::vector<std::string> dump = {"--dump", command_json({"dump", "{image}"})};
  std::vector<std::string> both = dump;
  both.insert(both.end(), probes.begin(), probes.end());
  EXPECT_EQ(run_recovery("check", dump).of("finding"), run_recovery("check", both).of("finding"));
}

// A probe that fails with nothing lost needs no power cut; what the dump has printed before is judged all the same.
TEST_F(ProgramCommand, AProbeThatAlwaysFailsHidesNoDump) {
  write(early_end());
  const Told told = run_recovery(
      "check", {"--dump", command_json({"dump", "{image}"}), "--probe", command_json({"exit", "{image}", "4"})});
  std::map<std::string, Json> findings;
  for (const Json& finding : told.of("finding")) findings[finding["invariant"]] = finding;
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(told.of("finding").size(), 2u);
  EXPECT_EQ(findings["lost-item"]["needs_power_cut"], true);
  EXPECT_EQ(findings["lost-item"]["found"], "1 100");
  EXPECT_EQ(findings["structure"]["needs_power_cut"], false);
  EXPECT_THAT(findings["structure"]["message"].get<std::string>(),
              ::testing::MatchesRegex("Probe 1 \\('.*'\\), after recovery, ends with exit status 4.*"));
}

TEST_F(ProgramCommand, ProbesThatHangOrDieAreFindings) {
  Program program;
  program.count(1);
  program.persist(64);
  write(program);
  const auto only = [&](const std::vector<std::string>& probe, const std::string& timeout) {
    const Told told = run_recovery("exit", {"--probe", command_json(probe), "--timeout", timeout});
    EXPECT_EQ(told.of("finding").size(), 1u);
    EXPECT_THAT(told.result()["not_checked"]["notes"][1].get<std::string>(), HasSubstr("so --probe only had to end"));
    return told.of("finding").empty() ? Json() : told.of("finding")[0];
  };
  const Json hang = only({"hang", "{image}"}, "0.1");
  EXPECT_EQ(hang["invariant"], "recovery-hang");
  EXPECT_THAT(hang["query"]["text"].get<std::string>(), HasSubstr("probe 1: "));
  const Json dies = only({"signal", "{image}", std::to_string(SIGBUS)}, "10");
  EXPECT_EQ(dies["invariant"], "recovery-failed");
  EXPECT_EQ(dies["fault"]["signal"], "SIGBUS");
  const Json refuses = only({"exit", "{image}", "4"}, "10");
  EXPECT_EQ(refuses["invariant"], "structure");
  EXPECT_EQ(refuses["found"], "exit status 4");
}

// The second item is there before it is asked for: its own operation allows it, the instant before it does not.
TEST_F(ProgramCommand, AStoreBetweenTwoOperationsIsJudgedThere) {
  for (const bool between : {true, false}) {
    Program program;
    program.begin(1);
    program.item(1, true);
    program.item(2, true);
    program.count(1);
    program.persist(64);
    program.end();
    if (between) program.count(2);
    program.begin(2);
    if (!between) program.count(2);
    program.persist(64);
    program.end();
    write(program);
    const Told told = run_recovery("check", {"--dump", command_json({"dump", "{image}"})});
    EXPECT_EQ(told.exit, between ? kExitFindings : kExitOk);
    EXPECT_EQ(told.of("finding").size(), between ? 1u : 0u);
    if (between) EXPECT_EQ(told.of("finding")[0]["found"], "1 100\n2 200");
  }
}

TEST_F(ProgramCommand, AnOutputOfNoPrefix) {
  Program program;
  program.begin(1);
  program.item(1, false);
  program.count(1);
  program.persist(64);
  program.end();
  write(program);
  const Told told = run_recovery("exit", {"--dump", command_json({"dump", "{image}"})});
  const auto findings = told.of("finding");
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0]["invariant"], "structure");
  EXPECT_EQ(findings[0]["found"], "1 0");
}

TEST_F(ProgramCommand, TheCheckersWordsAreInTheMessage) {
  Program program;
  program.item(1, false);
  program.count(1);
  program.persist(64);
  write(program);
  const Told told = run_recovery("exit", {"--check", command_json({"check", "{image}"})});
  ASSERT_FALSE(told.of("finding").empty());
  EXPECT_EQ(told.of("finding")[0]["invariant"], "structure");
  EXPECT_THAT(told.of("finding")[0]["message"].get<std::string>(), HasSubstr("item 1 has no part"));
}

TEST_F(ProgramCommand, HangsAndCrashesAreFindings) {
  Program program;
  program.count(1);
  program.persist(64);
  write(program);
  const Told hang = run_recovery("hang", {"--timeout", "0.1"});
  ASSERT_EQ(hang.of("finding").size(), 1u);
  EXPECT_EQ(hang.of("finding")[0]["invariant"], "recovery-hang");
  const Told dies = run({"--recover", command_json({"signal", "{image}", std::to_string(SIGBUS)})});
  ASSERT_EQ(dies.of("finding").size(), 1u);
  EXPECT_EQ(dies.of("finding")[0]["fault"]["signal"], "SIGBUS");
}

// Waiting is given up while the hang's image is made smaller; another finding is no reason to leave the hang out.
TEST_F(ProgramCommand, AHangIsToldOfBesideAnotherFinding) {
  Program program;
  program.store(0, 1);
  program.persist(0);
  program.store(128, 1);
  program.store(64, 1);
  // Each store doubles the images that hang, and each of these takes more than a second.
  for (uint64_t line = 3; line < 5; ++line) program.store(64 * line, 1);
  write(program);
  const Told told = run_recovery("fail-or-hang", {"--timeout", "0.25"});
  std::set<std::string> invariants;
  for (const Json& finding : told.of("finding")) invariants.insert(finding["invariant"].get<std::string>());
  EXPECT_EQ(invariants, (std::set<std::string>{"recovery-failed", "recovery-hang"}));
}

}  // namespace
}  // namespace powercut

// Pruning by recovery's reads changes no result.
#include <random>
#include <set>

#include "checker/subjects/program/test_program.h"

namespace powercut {

// Pruned by what recovery reads, and one image after the other: the same verdicts and the same counts.
void ProgramCommand::pruning_changes_nothing(const std::string& recovery, const std::vector<std::string>& how) {
  std::mt19937_64 random(2026);
  uint64_t behaviours = 0;
  for (int round = 0; round < 2; ++round) {
    Program program;
    for (uint64_t item = 1; item <= 2; ++item) {
      program.begin(item);
      for (uint64_t part = 0; part < 4; ++part) {
        program.store(Program::place(item, part), 100 * item + part);
        if (random() % 2 != 0) program.flush(Program::place(item, part));
      }
      if (random() % 2 != 0) program.fence();
      program.count(item);
      if (random() % 2 != 0) program.persist(64);
      program.end();
    }
    write(program);
    std::vector<std::string> words = {"--recover", command_json({"check", "{image}"}, recovery),
                                      round == 0 ? "--dump" : "--probe", command_json({"dump", "{image}"}, recovery)};
    const Told every = run(words);
    words.insert(words.end(), {"--native-box", "8"});
    words.insert(words.end(), how.begin(), how.end());
    const Told pruned = run(words);
    EXPECT_EQ(every.exit, pruned.exit);
    for (const char* name : {"verdict", "crash_points", "crash_states", "coverage"}) {
      EXPECT_EQ(every.result()[name], pruned.result()[name]) << name;
    }
    const auto verdicts = [](const Told& told) {
      std::set<std::string> out;
      for (const Json& finding : told.of("finding")) {
        out.insert(finding["invariant"].get<std::string>() + " " + finding["found"].get<std::string>());
      }
      return out;
    };
    EXPECT_EQ(verdicts(every), verdicts(pruned));
    EXPECT_EQ(every.result()["crash_states"], counted(trace()).second.str());
    behaviours += pruned.result()["behaviours"].get<uint64_t>();
  }
  EXPECT_GT(behaviours, 2u);
}

namespace {

using ::testing::HasSubstr;
using testing::tracer_json;

TEST_F(ProgramCommand, PruningChangesNothing) {
  pruning_changes_nothing("test-recovery", {"--trace-prefix", tracer_json()});
}

#ifdef POWERCUT_TEST_REPORTING
TEST_F(ProgramCommand, PruningByReportsChangesNothing) {
  for (const char* recovery : kReporting) pruning_changes_nothing(recovery, {"--report-reads"});
}
#endif

TEST_F(ProgramCommand, ARecoveryThatDependsOnMoreThanItsPools) {
  Program program;
  for (uint64_t item = 1; item <= 2; ++item) program.item(item, false);
  write(program);
  const Told told = run({"--recover", command_json({"counts", "{image}", file_.folder() + "/counter"})});
  EXPECT_EQ(told.exit, kExitUnknown);
  EXPECT_EQ(told.result()["verdict"], "unknown");
  EXPECT_THAT(told.result()["coverage"]["reason"].get<std::string>(), HasSubstr("other than the bytes of its pools"));
  // A probe that does is found out in the same way.
  const std::vector<std::string> counts = {"counts", "{image}", file_.folder() + "/other"};
  EXPECT_EQ(run_recovery("exit", {"--probe", command_json(counts)}).result()["verdict"], "unknown");
}

}  // namespace
}  // namespace powercut

// Tests the end of a command that is stopped, killed or given options that make no sense.
#include "checker/subjects/program/test_program.h"

namespace powercut {
namespace {

using ::testing::HasSubstr;

TEST_F(ProgramCommand, EndsInOrderWhenItIsInterrupted) {
  Program program;
  program.item(1, false);
  write(program);
  for (const int number : {SIGINT, SIGTERM}) {
    const pid_t engine = start({"--recover", command_json({"stubborn", "{image}"}), "--timeout", "60"});
    usleep(700'000);
    kill(engine, number);
    const Told told = finish(engine);
    EXPECT_EQ(told.exit, kExitUnknown);
    EXPECT_EQ(told.result()["coverage"]["reason"], "interrupted");
    EXPECT_FALSE(has_work());
  }
}

TEST_F(ProgramCommand, LeavesNothingWhenItIsKilled) {
  Program program;
  program.item(1, false);
  write(program);
  const pid_t engine = start({"--recover", command_json({"stubborn", "{image}"}), "--timeout", "60"});
  for (int round = 0; round < 400 && !has_work(); ++round) usleep(50'000);
  usleep(300'000);
  EXPECT_TRUE(has_work());
  kill(engine, SIGKILL);
  finish(engine);
  for (int round = 0; round < 400 && has_work(); ++round) usleep(50'000);
  EXPECT_FALSE(has_work());
}

TEST_F(ProgramCommand, BadInputIsOneClearSentence) {
  Program program;
  program.count(1);
  write(program);
  const auto what = [&](const std::vector<std::string>& words) {
    const Told told = run(words);
    EXPECT_EQ(told.exit, kExitUsage);
    return told.of("error").empty() ? "" : told.of("error")[0]["what"].get<std::string>();
  };
  EXPECT_THAT(what({"--recover", "./prog"}), HasSubstr("not a command"));
  EXPECT_THAT(what({"--recover", command_json({"exit", "{image}"}), "--model", "x"}), HasSubstr("unknown model"));
  EXPECT_THAT(what({"--recover", command_json({"exit", "{image}"}), "--work", "/no/such"}), HasSubstr("no folder"));
  EXPECT_THAT(what({"--recover", command_json({"exit", "{image}"}), "--trace-prefix", "[]"}), HasSubstr("no tracer"));
  program.store(kPool, 1);
  write(program);
  EXPECT_THAT(what({"--recover", command_json({"exit", "{image}"})}), HasSubstr("outside of the pool of "));
}

}  // namespace
}  // namespace powercut

// Which arguments are taken, and how others are refused.
#include "base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace powercut {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Said {
  std::optional<EarlyEnd> end;
  std::string output, error;
};

Said parse(CommandLine& line, std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "program");
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Said said{.end = line.parse(static_cast<int>(arguments.size()), arguments.data()), .output = "", .error = ""};
  said.output = ::testing::internal::GetCapturedStdout();
  said.error = ::testing::internal::GetCapturedStderr();
  return said;
}

// A program with one command that has options of every kind. Read its arguments once.
struct Program {
  CommandLine line{"Does something.", "program"};
  std::string file, format = "text";
  std::vector<std::string> pools;
  int jobs = 1;
  int64_t least = -1;
  uint32_t size = 0;
  uint64_t images = 4096;
  double seconds = 60, timeout = 10;
  bool draw = false, remember = true, merged = true;
  int ran = 0;

  Program() {
    line.set_version_flag("--version", "1.2.3");
    line.require_subcommand(1);
    CommandLine* command = line.add_subcommand("run", "Run it.");
    command->add_option("--file", file, "File to read")->required();
    command->add_option("--format", format, "How")->one_of({"text", "json"})->capture_default_str();
    command->add_option("--pool", pools, "Pool; may be given again")->allow_extra_args(false);
    command->add_option("--jobs", jobs, "Workers")->range(1, 1024);
    command->add_option("--least", least, "Least of all");
    command->add_option("--size", size, "Bytes");
    command->add_option("--images", images, "Images")->range(uint64_t{2}, uint64_t{1} << 24);
    command->add_option("--seconds", seconds, "Time")->positive();
    command->add_option("--timeout", timeout, "Limit")->range(0.001, 86400.0);
    command->add_flag("--draw", draw, "Draw it");
    command->add_flag("!--no-remember", remember, "Forget it");
    auto* after = command->add_option("--merge-after", images, "Turns");
    command->add_flag_callback("--no-merge", [this] { merged = false; }, "Never")->excludes(after);
    command->callback([this] { ++ran; });
  }

  // The refusal of `arguments`; nothing when they were taken.
  std::string refusal(const std::vector<const char*>& arguments) {
    const Said said = parse(line, arguments);
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(said.output, "");
    if (!said.end) return "";
    EXPECT_NE(said.end->exit_code, 0);
    EXPECT_NE(said.end->wrong, "");
    EXPECT_THAT(said.error, StartsWith(said.end->wrong));
    return said.end->wrong;
  }
};

TEST(CommandLine, ValuesOfEveryKindAreReadBeforeTheCommandRuns) {
  Program program;
  const Said said =
      parse(program.line,
            {"run",    "--file", "a b",           "--format",  "json",   "--pool", "one",      "--pool",   "two",
             "--jobs", "8",      "--least",       "-5",        "--size", "16",     "--images", "16777216", "--seconds",
             "0.25",   "--draw", "--no-remember", "--no-merge"});
  EXPECT_FALSE(said.end);
  EXPECT_EQ(said.output + said.error, "");
  EXPECT_EQ(program.ran, 1);
  EXPECT_EQ(program.file, "a b");
  EXPECT_EQ(program.format, "json");
  EXPECT_EQ(program.pools, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(program.jobs, 8);
  EXPECT_EQ(program.least, -5);
  EXPECT_EQ(program.size, 16u);
  EXPECT_EQ(program.images, 16777216u);
  EXPECT_EQ(program.seconds, 0.25);
  EXPECT_TRUE(program.draw);
  EXPECT_FALSE(program.remember);
  EXPECT_FALSE(program.merged);
}

TEST(CommandLine, WhatIsNotGivenKeepsItsValue) {
  Program program;
  EXPECT_FALSE(parse(program.line, {"run", "--file", "f"}).end);
  EXPECT_EQ(program.format, "text");
  EXPECT_TRUE(program.pools.empty());
  EXPECT_EQ(program.jobs, 1);
  EXPECT_EQ(program.images, 4096u);
  EXPECT_FALSE(program.draw);
  EXPECT_TRUE(program.remember);
  EXPECT_TRUE(program.merged);
}

TEST(CommandLine, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Program().refusal({"run"}), HasSubstr("--file is required"));
  EXPECT_THAT(Program().refusal({"run", "--file", "f", "--jobs", "0"}), HasSubstr("--jobs: Value 0 not in range"));
  EXPECT_THAT(Program().refusal({"run", "--file", "f", "--images", "1"}), HasSubstr("--images: Value 1 not in range"));
  EXPECT_THAT(Program().refusal({"run", "--file", "f", "--seconds", "0"}),
              HasSubstr("--seconds: Value 0 not in range"));
  EXPECT_THAT(Program().refusal({"run", "--file", "f", "--timeout", "0"}),
              HasSubstr("--timeout: Value 0 not in range"));
  EXPECT_THAT(Program().refusal({"run", "--file", "f", "--size", "many"}), HasSubstr("--size = many"));
  EXPECT_THAT(Program().refusal({"run", "--file", "f", "--format", "xml"}), HasSubstr("xml not in {text,json}"));
  EXPECT_THAT(Program().refusal({"run", "--file", "f", "--no-merge", "--merge-after", "3"}), HasSubstr(" excludes "));
  EXPECT_THAT(Program().refusal({"run", "--file", "f", "--pool", "one", "two"}), HasSubstr("not expected: two"));
  EXPECT_THAT(Program().refusal({}), HasSubstr("subcommand is required"));
}

TEST(CommandLine, AnswersQuestionsAboutItself) {
  Program program;
  const Said version = parse(program.line, {"--version"});
  ASSERT_TRUE(version.end);
  EXPECT_EQ(version.end->exit_code, 0);
  EXPECT_EQ(version.end->wrong, "");
  EXPECT_EQ(version.output, "1.2.3\n");
  const Said help = parse(program.line, {"run", "--help"});
  ASSERT_TRUE(help.end);
  EXPECT_EQ(help.end->exit_code, 0);
  EXPECT_EQ(program.ran, 0);
  for (const char* part : {"Run it.", "--file TEXT REQUIRED", "TEXT:{text,json}", "INT:INT in [1 - 1024]",
                           "UINT:UINT in [2 - 16777216]", "FLOAT:POSITIVE", "Excludes: --merge-after"}) {
    EXPECT_THAT(help.output, HasSubstr(part));
  }
}

TEST(CommandLine, AProgramWithoutCommandsHasOptionsAndPlaces) {
  CommandLine line("Does one thing.", "program");
  std::string kind;
  line.add_option("kind", kind)->required()->one_of({"trace", "plan"});
  EXPECT_FALSE(parse(line, {"plan"}).end);
  EXPECT_EQ(kind, "plan");
}

TEST(CommandLine, WhatACommandThrowsIsTheCallers) {
  CommandLine line("Does one thing.", "program");
  line.add_subcommand("run", "Run it.")->callback([] { throw std::runtime_error("broken"); });
  EXPECT_THROW(parse(line, {"run"}), std::runtime_error);
  ::testing::internal::GetCapturedStdout();
  ::testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace powercut

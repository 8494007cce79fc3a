#include "checker/subjects/program/commands/command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "checker/subjects/program/test_files.h"
#include "gmock/gmock.h"

namespace powercut {
namespace {

using testing::command_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::one_pool;

TEST(Command, ReplacesPlaceholdersAndPaths) {
  TracePools pools = one_pool(4096, "/data/a");
  pools.windows.push_back({.path = "/data/b", .offset = 4096, .size = 4096, .address = 0});
  auto command = parse_command(
      Json({"/bin/true", "{image}", "--pool={image:1},{image}", "/data/b", "x/data/b", "{image", "{images}"}).dump(),
      "--recover", pools);
  ASSERT_TRUE(command.ok()) << command.error().message();
  EXPECT_THAT(command->words_for(pools, {"/i/0/a", "/i/1/b"}),
              ElementsAre("/bin/true", "/i/0/a", "--pool=/i/1/b,/i/0/a", "/i/1/b", "x/data/b", "{image", "{images}"));
}

TEST(Command, FindsTheProgramOnThePath) {
  const TracePools pools = one_pool(4096);
  auto command = parse_command(R"(["true"])", "--recover", pools);
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(std::filesystem::path(command->words[0]).filename(), "true");
  EXPECT_TRUE(std::filesystem::path(command->words[0]).is_absolute());
}

TEST(Command, KnowsHowProgramsCanBeRun) {
  const std::string programs = POWERCUT_TEST_PROGRAMS;
  EXPECT_EQ(look_at_program(programs + "/test-recovery")->kind, ProgramKind::kForkable);
  const auto still = look_at_program(programs + "/test-recovery-static");
  EXPECT_EQ(still->kind, ProgramKind::kPlain);
  EXPECT_FALSE(still->preloads);

  const std::string script = std::filesystem::temp_directory_path() / ("powercut-" + std::to_string(getpid()) + ".sh");
  std::ofstream(script) << "#!/bin/sh\nexit 0\n";
  EXPECT_EQ(look_at_program(script)->kind, ProgramKind::kPlain);
  EXPECT_TRUE(look_at_program(script)->preloads);
  std::ofstream(script) << "neither";
  EXPECT_FALSE(look_at_program(script));
  std::filesystem::remove(script);

  const std::string other = std::filesystem::temp_directory_path() / ("powercut-suid-" + std::to_string(getpid()));
  std::filesystem::copy_file(programs + "/test-recovery", other);
  chmod(other.c_str(), 04755);
  EXPECT_THAT(look_at_program(other)->plain_because, HasSubstr("another user"));
  std::filesystem::remove(other);
}

TEST(Command, RefusesWhatCannotBeRun) {
  const TracePools pools = one_pool(4096);
  const auto what = [&](const std::string& json) {
    auto command = parse_command(json, "--recover", pools);
    EXPECT_FALSE(command.ok()) << json;
    return command.ok() ? "" : command.error().message();
  };
  EXPECT_THAT(what("./prog check"), HasSubstr("JSON list"));
  EXPECT_THAT(what("[]"), HasSubstr("JSON list"));
  EXPECT_THAT(what(R"(["/bin/true", 1])"), HasSubstr("not a text"));
  EXPECT_THAT(what(R"(["/no/such/program"])"), HasSubstr("no program"));
  EXPECT_THAT(what(R"(["/etc/passwd"])"), HasSubstr("no program"));
  EXPECT_THAT(what(R"(["/bin/true", "{image:1}"])"), HasSubstr("1 pool"));
  EXPECT_THAT(what(command_json({"exit", "elsewhere"}, "test-recovery-static")), HasSubstr("{image}"));
}

}  // namespace
}  // namespace powercut

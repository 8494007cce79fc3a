// A lane under recoveries that misbehave. Each runs in both ways of starting a program: from the fork server, and anew.
#include "checker/program/lane.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "checker/program/test_files.h"
#include "gmock/gmock.h"

namespace powercut {
namespace {

using testing::command;
using ::testing::EndsWith;
using testing::filled;
using ::testing::HasSubstr;
using testing::LaneFixture;
using testing::one_pool;
using ::testing::StartsWith;
using Kind = ProgramOutcome::Kind;

// Processes of the test program, by the path of their executable.
int processes_of(const std::string& program) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string exe = std::filesystem::read_symlink(entry.path() / "exe", ignored).filename();
    std::ifstream status(entry.path() / "stat");
    std::string text;
    std::getline(status, text);
    if (exe == program && text.find(") Z ") == std::string::npos) ++count;
  }
  return count;
}

// From the fork server, or started anew since it is statically linked.
class BothWays : public ::testing::TestWithParam<const char*> {
 protected:
  std::string program() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Lane, BothWays, ::testing::Values("test-recovery", "test-recovery-static"));

TEST_P(BothWays, TellsExitStatusAndSignal) {
  EXPECT_TRUE(LaneFixture({"exit", "{image}", "0"}, program()).run().ok());
  const ProgramOutcome three = LaneFixture({"exit", "{image}", "3"}, program()).run();
  EXPECT_EQ(three.kind, Kind::kExit);
  EXPECT_EQ(three.code, 3);
  const ProgramOutcome killed = LaneFixture({"signal", "{image}", std::to_string(SIGSEGV)}, program()).run();
  EXPECT_EQ(killed.kind, Kind::kSignal);
  EXPECT_EQ(killed.code, SIGSEGV);
}

TEST_P(BothWays, GivesTheImageAndTakesBackWhatTheRunDid) {
  LaneFixture lane({"exit", "{image}", "0"}, program());
  lane.commands.dump = command(lane.pools, {"first", "{image}"}, program());
  auto made = Lane::create(lane.guard->folder() + "/1", lane.pools, lane.commands, lane.guard.get(), nullptr);
  ASSERT_TRUE(made.ok());
  lane.lane = std::move(*made);
  for (int round = 0; round < 3; ++round) EXPECT_EQ(lane.run().text, "0\n");
  lane.lane->files().put(0, filled(0x21));
  for (int round = 0; round < 3; ++round) EXPECT_EQ(lane.run().text, "2121212121212121\n");
}

TEST_P(BothWays, KillsWhatDoesNotEnd) {
  for (const char* how : {"hang", "spin", "stubborn"}) {
    LaneFixture lane({how, "{image}"}, program(), 0.2);
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < 2; ++round) EXPECT_EQ(lane.run().kind, Kind::kTimeout) << how;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << how;
    lane.lane.reset();
    EXPECT_EQ(processes_of(program()), 0) << how;
  }
}

TEST_P(BothWays, KillsProcessesThatAreLeftBehind) {
  LaneFixture lane({"leave", "{image}"}, program());
  for (int round = 0; round < 3; ++round) {
    const ProgramOutcome outcome = lane.run();
    EXPECT_TRUE(outcome.ok());
    EXPECT_TRUE(outcome.left_processes);
    // No more than the server itself.
    EXPECT_LE(processes_of(program()), 1);
  }
}

TEST_P(BothWays, KeepsHeadAndTailOfAFlood) {
  LaneFixture lane({"exit", "{image}", "0"}, program());
  lane.commands.dump = command(lane.pools, {"print", "{image}", "300000000"}, program());
  auto made = Lane::create(lane.guard->folder() + "/1", lane.pools, lane.commands, lane.guard.get(), nullptr);
  ASSERT_TRUE(made.ok());
  lane.lane = std::move(*made);
  const ProgramOutcome outcome = lane.run();
  EXPECT_GT(outcome.dumped, 300000000u);
  EXPECT_LT(outcome.text.size(), 70000u);
  EXPECT_THAT(outcome.text, StartsWith("first xxx"));
  EXPECT_THAT(outcome.text, EndsWith("xxx last"));
  EXPECT_THAT(outcome.text, HasSubstr("bytes …]"));
  EXPECT_TRUE(lane.run().same(outcome));
}

TEST_P(BothWays, ReplacesAServerThatARunKilled) {
  LaneFixture lane({"kill-server", "{image}"}, program());
  const auto outcome = lane.lane->run();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, ErrorKind::kHarness);
  EXPECT_THAT(outcome.error().what, HasSubstr("died"));
}

TEST_P(BothWays, DaemonsSurviveNotEvenTheirServersEnd) {
  LaneFixture lane({"escape", "{image}"}, program());
  EXPECT_FALSE(lane.lane->run().ok());
  lane.lane.reset();
  lane.guard.reset();
  EXPECT_EQ(processes_of(program()), 0);
}

TEST_P(BothWays, RestoresFilesThatWereMistreated) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"scribble", "{image}"},
           {"punch", "{image}"},
           {"truncate", "{image}", "0"},
           {"truncate", "{image}", "5000"},
           {"truncate", "{image}", "9000000"},
           {"delete", "{image}"},
           {"replace", "{image}"},
           {"litter", "{image}"},
       }) {
    LaneFixture lane(words, program());
    ImageFiles& files = lane.lane->files();
    files.put(1, filled(0x11));
    files.put(80, filled(0x22));
    for (int round = 0; round < 3; ++round) {
      files.put(2, filled(static_cast<uint8_t>(round)));
      EXPECT_TRUE(lane.run().ok()) << words[0];
      const std::filesystem::path path = files.paths()[0];
      ASSERT_EQ(std::filesystem::file_size(path), 1u << 20) << words[0];
      std::ifstream file(path, std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      for (size_t i = 0; i < bytes.size(); ++i) {
        const int wanted = i / 64 == 1 ? 0x11 : i / 64 == 80 ? 0x22 : i / 64 == 2 ? round : 0;
        ASSERT_EQ(bytes[i], wanted) << words[0] << " at " << i;
      }
      size_t entries = 0;
      for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path.parent_path())) ++entries;
      EXPECT_EQ(entries, 1u) << words[0];
    }
  }
}

TEST_P(BothWays, MapsAtTheSameAddressesInEveryRun) {
  LaneFixture lane({"exit", "{image}", "0"}, program());
  lane.commands.dump = command(lane.pools, {"address", "{image}"}, program());
  auto made = Lane::create(lane.guard->folder() + "/1", lane.pools, lane.commands, lane.guard.get(), nullptr);
  ASSERT_TRUE(made.ok());
  lane.lane = std::move(*made);
  const ProgramOutcome first = lane.run();
  EXPECT_TRUE(first.ok());
  for (int round = 0; round < 5; ++round) EXPECT_TRUE(lane.run().same(first)) << first.text;
}

TEST_P(BothWays, HasNothingOnStandardInput) { EXPECT_TRUE(LaneFixture({"input", "{image}"}, program()).run().ok()); }

TEST(Lane, AnOrphanThatEndedByItselfIsNotLeftBehind) {
  LaneFixture lane({"orphan", "{image}"});
  for (int round = 0; round < 20; ++round) EXPECT_TRUE(lane.run().ok());
}

TEST(Lane, ConstructorsRunOnceAndTheServerIsHidden) {
  LaneFixture lane({"exit", "{image}", "0"});
  lane.commands.dump = command(lane.pools, {"constructed", "{image}"});
  auto made = Lane::create(lane.guard->folder() + "/1", lane.pools, lane.commands, lane.guard.get(), nullptr);
  ASSERT_TRUE(made.ok());
  for (int round = 0; round < 3; ++round) EXPECT_EQ((*(*made)->run()).text, "1 hidden\n");
}

TEST(Lane, LeadsRecordedPathsToTheImage) {
  // The words name the pool in other ways than it was recorded; none of them is an {image}.
  const std::string folder = std::filesystem::temp_directory_path() / ("powercut-lane-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder + "/real");
  std::filesystem::create_directory_symlink(folder + "/real", folder + "/link");
  const TracePools pools = one_pool(1 << 20, folder + "/real/pool");
  for (const std::string& path : {folder + "/real/pool", folder + "/./real//../real/pool", folder + "/link/pool"}) {
    for (const char* how : {"stat", "first"}) {
      LaneFixture lane({"exit", path, "0"}, "test-recovery", 10, pools);
      // As a part of a word it is not replaced: only the preloaded library can see it.
      lane.commands.dump = command(pools, {how, path});
      lane.commands.dump->words[2] = path;
      auto made = Lane::create(lane.guard->folder() + "/1", pools, lane.commands, lane.guard.get(), nullptr);
      ASSERT_TRUE(made.ok());
      (*made)->files().put(0, filled(0x42));
      const auto outcome = (*made)->run();
      ASSERT_TRUE(outcome.ok());
      EXPECT_THAT((*outcome).text, HasSubstr("4242424242424242")) << how << " " << path;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder + "/real/pool"));
  std::filesystem::remove_all(folder);
}

TEST(Lane, ChecksWhatRecoveryLeft) {
  LaneFixture lane({"scribble", "{image}"});
  lane.commands.check = command(lane.pools, {"first", "{image}"});
  lane.commands.dump = command(lane.pools, {"first", "{image}"});
  auto made = Lane::create(lane.guard->folder() + "/1", lane.pools, lane.commands, lane.guard.get(), nullptr);
  ASSERT_TRUE(made.ok());
  // The checker turned what recovery had written.
  EXPECT_EQ((*(*made)->run()).text, "1111111111111111\n");
  lane.commands.check = command(lane.pools, {"exit", "{image}", "4"});
  made = Lane::create(lane.guard->folder() + "/2", lane.pools, lane.commands, lane.guard.get(), nullptr);
  const auto outcome = (*made)->run();
  EXPECT_EQ((*outcome).step, ProgramOutcome::Step::kCheck);
  EXPECT_EQ((*outcome).code, 4);
}

TEST(Lane, EndsAtOnceWhenItIsCancelled) {
  LaneFixture lane({"hang", "{image}"}, "test-recovery", 60);
  std::atomic<bool> cancel = false;
  auto made = Lane::create(lane.guard->folder() + "/1", lane.pools, lane.commands, lane.guard.get(), &cancel);
  ASSERT_TRUE(made.ok());
  std::thread canceller([&] {
    usleep(200'000);
    cancel = true;
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE((*made)->run().ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  canceller.join();
  made->reset();
  lane.lane.reset();
  EXPECT_EQ(processes_of("test-recovery"), 0);
}

// The engine is killed in the middle of a run: neither a process nor a file is left.
TEST(Lane, LeavesNothingWhenItsProcessIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t engine = fork();
  if (engine == 0) {
    LaneFixture lane({"stubborn", "{image}"}, "test-recovery", 60);
    const std::string folder = lane.guard->folder();
    [[maybe_unused]] const ssize_t told = write(ends[1], folder.data(), folder.size());
    (void)lane.lane->run();
    _exit(0);
  }
  char folder[256] = {};
  ASSERT_GT(read(ends[0], folder, sizeof folder - 1), 0);
  usleep(300'000);
  EXPECT_GE(processes_of("test-recovery"), 2);
  kill(engine, SIGKILL);
  waitpid(engine, nullptr, 0);
  for (int round = 0; round < 100 && (std::filesystem::exists(folder) || processes_of("test-recovery") > 0); ++round) {
    usleep(50'000);
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(processes_of("test-recovery"), 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace powercut

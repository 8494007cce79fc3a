// A worker under recoveries that misbehave. Each runs in both ways of starting a program: from the fork server, and
// anew.
#include "checker/subjects/program/workers/image_worker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "checker/subjects/program/test_files.h"
#include "gmock/gmock.h"

namespace powercut {
namespace {

using testing::command;
using ::testing::EndsWith;
using testing::filled;
using ::testing::HasSubstr;
using testing::one_pool;
using ::testing::StartsWith;
using testing::WorkerFixture;
using Kind = ProgramOutcome::Kind;

// This variable marks the environment of all processes of this test, since other tests run at the same time.
const std::string mark = "POWERCUT_TEST_STARTED_BY=" + std::to_string(getpid());
const bool marked = putenv(strdup(mark.c_str())) == 0;

bool started_here(const std::filesystem::path& process) {
  std::ifstream file(process / "environ");
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable == mark) return true;
  }
  return false;
}

// Processes of the test program that this test has started, by the path of their executable.
int processes_of(const std::string& program) {
  int count = 0;
  std::error_code ignored;
  EXPECT_TRUE(marked);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string exe = std::filesystem::read_symlink(entry.path() / "exe", ignored).filename();
    std::ifstream status(entry.path() / "stat");
    std::string text;
    std::getline(status, text);
    if (exe == program && text.find(") Z ") == std::string::npos && started_here(entry.path())) ++count;
  }
  return count;
}

// The program runs from the fork server, or is started anew since it is statically linked.
class BothWays : public ::testing::TestWithParam<const char*> {
 protected:
  std::string program() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(ImageWorker, BothWays, ::testing::Values("test-recovery", "test-recovery-static"));

TEST_P(BothWays, TellsExitStatusAndSignal) {
  EXPECT_TRUE(WorkerFixture({"exit", "{image}", "0"}, program()).run().ok());
  const ProgramOutcome three = WorkerFixture({"exit", "{image}", "3"}, program()).run();
  EXPECT_EQ(three.kind, Kind::kExit);
  EXPECT_EQ(three.code, 3);
  const ProgramOutcome killed = WorkerFixture({"signal", "{image}", std::to_string(SIGSEGV)}, program()).run();
  EXPECT_EQ(killed.kind, Kind::kSignal);
  EXPECT_EQ(killed.code, SIGSEGV);
}

TEST_P(BothWays, GivesTheImageAndTakesBackWhatTheRunDid) {
  WorkerFixture fixture({"exit", "{image}", "0"}, program());
  fixture.commands.dump = command(fixture.pools, {"first", "{image}"}, program());
  auto made = ImageWorker::create(fixture.guard->folder() + "/1", fixture.pools, fixture.commands, fixture.guard.get(),
                                  nullptr);
  ASSERT_TRUE(made.ok());
  fixture.worker = std::move(*made);
  for (int round = 0; round < 3; ++round) EXPECT_EQ(fixture.run().text(), "0\n");
  fixture.worker->files().put(0, filled(0x21));
  for (int round = 0; round < 3; ++round) EXPECT_EQ(fixture.run().text(), "2121212121212121\n");
}

TEST_P(BothWays, KillsWhatDoesNotEnd) {
  for (const char* how : {"hang", "spin", "stubborn"}) {
    WorkerFixture fixture({how, "{image}"}, program(), 0.2);
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < 2; ++round) EXPECT_EQ(fixture.run().kind, Kind::kTimeout) << how;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << how;
    fixture.worker.reset();
    EXPECT_EQ(processes_of(program()), 0) << how;
  }
}

// A busy machine is no finding.
TEST_P(BothWays, GivesASecondTryToWhatIsLateOnce) {
  WorkerFixture fixture({"late", "{image}"}, program(), 0.5);
  fixture.commands.recover =
      command(fixture.pools, {"late", "{image}", fixture.guard->folder() + "/was-late"}, program());
  auto made = ImageWorker::create(fixture.guard->folder() + "/1", fixture.pools, fixture.commands, fixture.guard.get(),
                                  nullptr);
  ASSERT_TRUE(made.ok());
  for (int round = 0; round < 2; ++round) {
    auto outcome = (*made)->run();
    ASSERT_TRUE(outcome.ok());
    EXPECT_TRUE((*outcome).ok()) << (*outcome).code;
  }
}

TEST_P(BothWays, KillsProcessesThatAreLeftBehind) {
  WorkerFixture fixture({"leave", "{image}"}, program());
  for (int round = 0; round < 3; ++round) {
    const ProgramOutcome outcome = fixture.run();
    EXPECT_TRUE(outcome.ok());
    EXPECT_TRUE(outcome.left_processes);
    // No more than the server itself.
    EXPECT_LE(processes_of(program()), 1);
  }
}

TEST_P(BothWays, KeepsHeadAndTailOfAFlood) {
  WorkerFixture fixture({"exit", "{image}", "0"}, program());
  fixture.commands.dump = command(fixture.pools, {"print", "{image}", "300000000"}, program());
  auto made = ImageWorker::create(fixture.guard->folder() + "/1", fixture.pools, fixture.commands, fixture.guard.get(),
                                  nullptr);
  ASSERT_TRUE(made.ok());
  fixture.worker = std::move(*made);
  const ProgramOutcome outcome = fixture.run();
  EXPECT_GT(outcome.printed[0].total, 300000000u);
  EXPECT_LT(outcome.text().size(), 70000u);
  EXPECT_THAT(outcome.text(), StartsWith("first xxx"));
  EXPECT_THAT(outcome.text(), EndsWith("xxx last"));
  EXPECT_THAT(outcome.text(), HasSubstr("bytes …]"));
  EXPECT_TRUE(fixture.run().same(outcome));
}

TEST_P(BothWays, ReplacesAServerThatARunKilled) {
  WorkerFixture fixture({"kill-server", "{image}"}, program());
  const auto outcome = fixture.worker->run();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, ErrorKind::kHarness);
  EXPECT_THAT(outcome.error().what, HasSubstr("died"));
}

TEST_P(BothWays, DaemonsSurviveNotEvenTheirServersEnd) {
  WorkerFixture fixture({"escape", "{image}"}, program());
  EXPECT_FALSE(fixture.worker->run().ok());
  fixture.worker.reset();
  fixture.guard.reset();
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
    WorkerFixture fixture(words, program());
    ImageFiles& files = fixture.worker->files();
    files.put(1, filled(0x11));
    files.put(80, filled(0x22));
    for (int round = 0; round < 3; ++round) {
      files.put(2, filled(static_cast<uint8_t>(round)));
      EXPECT_TRUE(fixture.run().ok()) << words[0];
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
  WorkerFixture fixture({"exit", "{image}", "0"}, program());
  fixture.commands.dump = command(fixture.pools, {"address", "{image}"}, program());
  auto made = ImageWorker::create(fixture.guard->folder() + "/1", fixture.pools, fixture.commands, fixture.guard.get(),
                                  nullptr);
  ASSERT_TRUE(made.ok());
  fixture.worker = std::move(*made);
  const ProgramOutcome first = fixture.run();
  EXPECT_TRUE(first.ok());
  for (int round = 0; round < 5; ++round) EXPECT_TRUE(fixture.run().same(first)) << first.text();
}

TEST_P(BothWays, HasNothingOnStandardInput) { EXPECT_TRUE(WorkerFixture({"input", "{image}"}, program()).run().ok()); }

TEST(ImageWorker, AnOrphanThatEndedByItselfIsNotLeftBehind) {
  WorkerFixture fixture({"orphan", "{image}"});
  for (int round = 0; round < 20; ++round) EXPECT_TRUE(fixture.run().ok());
}

TEST(ImageWorker, ConstructorsRunOnceAndTheServerIsHidden) {
  WorkerFixture fixture({"exit", "{image}", "0"});
  fixture.commands.dump = command(fixture.pools, {"constructed", "{image}"});
  auto made = ImageWorker::create(fixture.guard->folder() + "/1", fixture.pools, fixture.commands, fixture.guard.get(),
                                  nullptr);
  ASSERT_TRUE(made.ok());
  for (int round = 0; round < 3; ++round) EXPECT_EQ((*(*made)->run()).text(), "1 hidden\n");
}

TEST(ImageWorker, LeadsRecordedPathsToTheImage) {
  // The words name the pool in other ways than it was recorded; none of them is an {image}.
  const std::string folder = std::filesystem::temp_directory_path() / ("powercut-worker-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder + "/real");
  std::filesystem::create_directory_symlink(folder + "/real", folder + "/link");
  const TracePools pools = one_pool(1 << 20, folder + "/real/pool");
  for (const std::string& path : {folder + "/real/pool", folder + "/./real//../real/pool", folder + "/link/pool"}) {
    for (const char* how : {"stat", "first"}) {
      WorkerFixture fixture({"exit", path, "0"}, "test-recovery", 10, pools);
      // As a part of a word it is not replaced: only the preloaded library can see it.
      fixture.commands.dump = command(pools, {how, path});
      fixture.commands.dump->words[2] = path;
      auto made =
          ImageWorker::create(fixture.guard->folder() + "/1", pools, fixture.commands, fixture.guard.get(), nullptr);
      ASSERT_TRUE(made.ok());
      (*made)->files().put(0, filled(0x42));
      const auto outcome = (*made)->run();
      ASSERT_TRUE(outcome.ok());
      EXPECT_THAT((*outcome).text(), HasSubstr("4242424242424242")) << how << " " << path;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder + "/real/pool"));
  std::filesystem::remove_all(folder);
}

TEST(ImageWorker, ChecksWhatRecoveryLeft) {
  WorkerFixture fixture({"scribble", "{image}"});
  fixture.commands.check = command(fixture.pools, {"first", "{image}"});
  fixture.commands.dump = command(fixture.pools, {"first", "{image}"});
  auto made = ImageWorker::create(fixture.guard->folder() + "/1", fixture.pools, fixture.commands, fixture.guard.get(),
                                  nullptr);
  ASSERT_TRUE(made.ok());
  // The checker turned the bytes that recovery had written.
  EXPECT_EQ((*(*made)->run()).text(), "1111111111111111\n");
  fixture.commands.check = command(fixture.pools, {"exit", "{image}", "4"});
  made = ImageWorker::create(fixture.guard->folder() + "/2", fixture.pools, fixture.commands, fixture.guard.get(),
                             nullptr);
  const auto outcome = (*made)->run();
  EXPECT_EQ(outcome->step.kind, ProgramStep::Kind::kCheck);
  EXPECT_EQ((*outcome).code, 4);
}

// A long output is kept in two parts, from both ends.
TEST(RunOutput, IsShortenedInTheMiddle) {
  const RunOutput all = {.total = 10, .digest = {}, .lines = {}, .head = "0123456789", .tail = ""};
  EXPECT_EQ(all.text(10), "0123456789");
  EXPECT_EQ(all.text(4), "01\n[… 6 bytes …]\n89");
  const RunOutput part = {.total = 100, .digest = {}, .lines = {}, .head = "01234", .tail = "56789"};
  EXPECT_EQ(part.text(), "01234\n[… 90 bytes …]\n56789");
  EXPECT_EQ(part.text(4), "01\n[… 96 bytes …]\n89");
}

// Each probe finds the changes of the probe before, and the next image has none of the changes.
TEST(ImageWorker, ProbesRunInTheirOrder) {
  WorkerFixture fixture({"exit", "{image}", "0"});
  for (int i = 0; i < 2; ++i) fixture.commands.probes.push_back(command(fixture.pools, {"first", "{image}"}));
  auto made = ImageWorker::create(fixture.guard->folder() + "/1", fixture.pools, fixture.commands, fixture.guard.get(),
                                  nullptr);
  ASSERT_TRUE(made.ok());
  (*made)->files().put(0, filled(0x42));
  const auto once = (*made)->run(), again = (*made)->run();
  ASSERT_TRUE(once.ok() && again.ok());
  ASSERT_EQ(once->printed.size(), 2u);
  EXPECT_EQ(once->printed[0].text, "4242424242424242\n");
  EXPECT_EQ(once->printed[1].text, "bdbdbdbdbdbdbdbd\n");
  EXPECT_EQ(name_of(once->printed[1].step), "probe 2");
  EXPECT_TRUE(once->same(*again));
  // Each probe's output counts by itself, and not all outputs together.
  ProgramOutcome swapped = *once;
  std::swap(swapped.printed[0].lines, swapped.printed[1].lines);
  EXPECT_FALSE(once->alike(swapped, false));
}

TEST(ImageWorker, EndsAtOnceWhenItIsCancelled) {
  WorkerFixture fixture({"hang", "{image}"}, "test-recovery", 60);
  std::atomic<bool> cancel = false;
  auto made = ImageWorker::create(fixture.guard->folder() + "/1", fixture.pools, fixture.commands, fixture.guard.get(),
                                  &cancel);
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
  fixture.worker.reset();
  EXPECT_EQ(processes_of("test-recovery"), 0);
}

// The engine is killed in the middle of a run: neither a process nor a file is left.
TEST(ImageWorker, LeavesNothingWhenItsProcessIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t engine = fork();
  if (engine == 0) {
    WorkerFixture fixture({"stubborn", "{image}"}, "test-recovery", 60);
    const std::string folder = fixture.guard->folder();
    [[maybe_unused]] const ssize_t told = write(ends[1], folder.data(), folder.size());
    (void)fixture.worker->run();
    _exit(0);
  }
  char folder[256] = {};
  ASSERT_GT(read(ends[0], folder, sizeof folder - 1), 0);
  for (int round = 0; round < 200 && processes_of("test-recovery") < 2; ++round) usleep(50'000);
  EXPECT_GE(processes_of("test-recovery"), 2);
  kill(engine, SIGKILL);
  waitpid(engine, nullptr, 0);
  for (int round = 0; round < 400 && (std::filesystem::exists(folder) || processes_of("test-recovery") > 0); ++round) {
    usleep(50'000);
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(processes_of("test-recovery"), 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace powercut

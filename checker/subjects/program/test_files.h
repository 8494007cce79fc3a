// Parts that the tests of program mode share: a folder, pools, commands of the test program.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_TEST_FILES_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_TEST_FILES_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "checker/subjects/program/workers/image_worker.h"

namespace powercut::testing {

inline TracePools one_pool(uint64_t size, const std::string& path = "/nowhere/pool") {
  TracePools pools;
  pools.windows.push_back({.path = path, .offset = 0, .size = size, .address = 0});
  pools.space = (size + 4095) / 4096 * 4096;
  return pools;
}

inline std::unique_ptr<Guardian> guardian() {
  auto made = Guardian::start("/dev/shm");
  EXPECT_TRUE(made.ok());
  return std::move(*made);
}

// `program`: a name in the folder of test programs.
inline std::string command_json(std::vector<std::string> words, const std::string& program = "test-recovery") {
  words.insert(words.begin(), std::string(POWERCUT_TEST_PROGRAMS) + "/" + program);
  return Json(words).dump();
}

inline Command command(const TracePools& pools, std::vector<std::string> words,
                       const std::string& program = "test-recovery") {
  auto made = parse_command(command_json(std::move(words), program), "--recover", pools);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
  return std::move(*made);
}

// The Valgrind tool, as a --trace-prefix.
inline std::string tracer_json() {
  return Json{{"command",
               {"valgrind", "--tool=powercut", "-q", "--vgdb=no", "--trace-children=yes", "--stream={stream}",
                "--pool={image}", "--loads=yes"}},
              {"environment", {{"VALGRIND_LIB", POWERCUT_TEST_VALGRIND}}}}
      .dump();
}

inline Content filled(uint8_t byte) {
  Content out;
  out.bytes.fill(byte);
  return out;
}

// A worker for one command, and the objects that it needs to live.
struct WorkerFixture {
  explicit WorkerFixture(std::vector<std::string> words, const std::string& program = "test-recovery",
                         double timeout = 10, TracePools of = one_pool(1 << 20))
      : pools(std::move(of)), guard(guardian()) {
    commands.recover = command(pools, std::move(words), program);
    commands.timeout = timeout;
    auto made = ImageWorker::create(guard->folder() + "/0", pools, commands, guard.get(), nullptr);
    EXPECT_TRUE(made.ok());
    worker = std::move(*made);
  }
  ProgramOutcome run() {
    auto outcome = worker->run();
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message());
    return outcome.ok() ? *outcome : ProgramOutcome{};
  }

  TracePools pools;
  std::unique_ptr<Guardian> guard;
  ProgramCommands commands;
  std::unique_ptr<ImageWorker> worker;
};

}  // namespace powercut::testing
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_TEST_FILES_H_

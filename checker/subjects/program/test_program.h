// The engine's command `program` from outside: traces made here, recoveries of testdata/recovery.c.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_TEST_PROGRAM_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_TEST_PROGRAM_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "checker/subjects/program/test_files.h"
#include "gmock/gmock.h"
#include "replayer/crash_points/crash_points.h"
#include "replayer/media/medium.h"
#include "replayer/strategies/strategy.h"
#include "tracer/format/test_traces.h"

namespace powercut {

using testing::command_json;

inline constexpr uint64_t kPool = 1 << 16;
#ifdef POWERCUT_TEST_REPORTING
// The test recovery built as anybody would, and built by the pass.
inline constexpr std::array kReporting = {"test-recovery", "test-recovery-reporting"};
#endif

// A program of the test recovery's pool: word 8 is the count, an item has four lines from word 512 on.
class Program {
 public:
  void store(uint64_t offset, uint64_t value) {
    testing::OwnedEvent event;
    event.kind = EventKind::kStore;
    event.addr = offset;
    event.value.resize(8);
    std::memcpy(event.value.data(), &value, 8);
    event.stack = static_cast<uint32_t>(sites_ += 1);
    events_.push_back(std::move(event));
  }
  void flush(uint64_t offset) { plain(EventKind::kFlush, static_cast<uint8_t>(FlushKind::kClwb), offset); }
  void fence() { plain(EventKind::kFence, static_cast<uint8_t>(FenceKind::kSfence)); }
  void begin(uint64_t key) {
    plain(EventKind::kOpBegin, static_cast<uint8_t>(OpKind::kInsert));
    events_.back().key = {static_cast<uint8_t>('a' + key)};
  }
  void end() { plain(EventKind::kOpEnd, 0); }
  void persist(uint64_t offset) {
    flush(offset);
    fence();
  }
  void item(uint64_t number, bool fenced) {
    for (uint64_t part = 0; part < 4; ++part) store(place(number, part), 100 * number + part);
    for (uint64_t part = 0; part < 4; ++part) flush(place(number, part));
    if (fenced) fence();
  }
  void count(uint64_t number) { store(64, number); }
  static uint64_t place(uint64_t number, uint64_t part) { return (512 + number * 32 + part * 8) * 8; }

  void write(const std::string& path, const std::string& pools) const {
    TraceError error;
    auto writer = TraceWriter::create(path, R"({"program": {"command": ["x"], "pools": )" + pools + "}}", &error);
    ASSERT_NE(writer, nullptr) << error.message();
    const uint32_t module = writer->module({"/bin/program", "00"});
    for (uint32_t site = 1; site <= sites_; ++site) {
      const Frame frame = {module, site};
      ASSERT_EQ(writer->stack({&frame, 1}), site);
    }
    for (const auto& event : events_) writer->append(event.view());
    ASSERT_FALSE(writer->finish());
  }

 private:
  void plain(EventKind kind, uint8_t code, uint64_t offset = 0) {
    testing::OwnedEvent event;
    event.kind = kind;
    event.code = code;
    event.addr = offset;
    events_.push_back(std::move(event));
  }
  std::vector<testing::OwnedEvent> events_;
  uint32_t sites_ = 0;
};

// Two items; the second ends before its count is durable.
inline Program early_end() {
  Program program;
  for (uint64_t item = 1; item <= 2; ++item) {
    program.begin(item);
    program.item(item, true);
    program.count(item);
    if (item == 1) program.persist(64);
    program.end();
  }
  return program;
}

// Two items; the second is counted without a fence.
inline Program missing_fence() {
  Program program;
  program.item(1, true);
  program.count(1);
  program.persist(64);
  program.item(2, false);
  program.count(2);
  program.persist(64);
  return program;
}

// Begins with a fence that waits for so many items of 48 lines that nobody can try all images, and goes on as
// early_end(). Each part is a marked operation.
inline Program heavy_and_early_end() {
  Program program;
  program.begin(9);
  for (uint64_t item = 20; item < 32; ++item) program.item(item, item == 31);
  program.end();
  for (uint64_t item = 1; item <= 2; ++item) {
    program.begin(item);
    program.item(item, item == 1);
    program.count(item);
    program.persist(64);
    program.end();
  }
  return program;
}

// Writes an undo log for word 24, and then the word.
inline Program logged() {
  Program program;
  program.store(16 * 8, 1);
  program.store(17 * 8, 7);
  program.persist(16 * 8);
  program.store(24 * 8, 99);
  program.persist(24 * 8);
  return program;
}

struct Told {
  int exit = -1;
  std::vector<Json> events;
  std::vector<Json> of(const std::string& kind) const {
    std::vector<Json> out;
    for (const Json& event : events) {
      if (event["event"] == kind) out.push_back(event);
    }
    return out;
  }
  Json result() const {
    const auto results = of("result");
    return results.empty() ? Json() : results[0];
  }
};

class ProgramCommand : public ::testing::Test {
 protected:
  std::string trace() const { return file_.path(); }
  void write(const Program& program) {
    program.write(trace(), R"([{"path": "/nowhere/pool", "offset": 0, "size": )" + std::to_string(kPool) + "}]");
  }
  // Starts the engine; its events go to a file.
  pid_t start(std::vector<std::string> words, const std::string& command = "program") const {
    if (std::find(words.begin(), words.end(), "--work") == words.end()) {
      words.insert(words.begin(), {"--work", file_.folder()});
    }
    words.insert(words.begin(), {POWERCUT_TEST_ENGINE, command, "--trace", trace()});
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, events_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    EXPECT_EQ(posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
  }
  Told finish(pid_t pid) const {
    int status = 0;
    waitpid(pid, &status, 0);
    Told out;
    out.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    std::ifstream file(events_path());
    for (std::string line; std::getline(file, line);) out.events.push_back(Json::parse(line));
    return out;
  }
  Told run(const std::vector<std::string>& words) const { return finish(start(words)); }
  Told run_recovery(const std::string& how, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--recover", command_json({how, "{image}"})});
    return run(more);
  }
  // The words `how` ask for the pruning.
  void pruning_changes_nothing(const std::string& recovery, const std::vector<std::string>& how);
  // Runs `program-judge` with these requests.
  Told judge(const std::vector<Json>& requests, std::vector<std::string> words) const {
    const std::string path = file_.folder() + "/requests";
    std::ofstream file(path);
    for (const Json& request : requests) file << request.dump() << '\n';
    file.close();
    words.insert(words.end(), {"--requests", path});
    return finish(start(words, "program-judge"));
  }
  std::string events_path() const { return file_.folder() + "/events"; }
  // The engine's own folder, while there is one.
  bool has_work() const {
    for (const auto& entry : std::filesystem::directory_iterator(file_.folder())) {
      if (entry.is_directory()) return true;
    }
    return false;
  }
  testing::TemporaryFile file_;
};

// Calls visit(ordinal) at each crash point; returns how many there are.
template <typename Visit>
uint64_t for_each_crash_point(TraceReader* reader, Model* model, const Visit& visit) {
  CrashPoints crash_points(model);
  Event event;
  while (reader->next(&event)) {
    while (crash_points.next(&event)) visit(crash_points.at().ordinal);
  }
  while (crash_points.next(nullptr)) visit(crash_points.at().ordinal);
  return crash_points.count();
}

// States by the model's own candidates at every crash point: nothing of program mode, nor of the frontier.
inline std::pair<uint64_t, BigInt> counted(const std::string& path) {
  TraceError error;
  auto reader = TraceReader::open(path, &error);
  auto model = make_model("adr", AtomPolicy::kAny, kPool);
  BigInt states = 0;
  const uint64_t points = for_each_crash_point(reader.get(), model.get(), [&](uint64_t) {
    BigInt product = 1;
    for (const auto& line : model->pending().lines()) product *= model->candidates(line.number).contents.size();
    states += product;
  });
  return {points, states};
}

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_TEST_PROGRAM_H_

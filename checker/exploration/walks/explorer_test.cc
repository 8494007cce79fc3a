// The engine's command `program` from outside: traces made here, recoveries of testdata/recovery.c.
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
#include <map>
#include <random>
#include <set>

#include "checker/subjects/program/test_files.h"
#include "gmock/gmock.h"
#include "replayer/crash_points/crash_points.h"
#include "replayer/strategies/strategy.h"
#include "tracer/format/test_traces.h"

namespace powercut {
namespace {

using testing::command_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::tracer_json;

constexpr uint64_t kPool = 1 << 16;
#ifdef POWERCUT_TEST_REPORTING
// The test recovery as anybody would build it, and by the pass.
constexpr std::array kReporting = {"test-recovery", "test-recovery-reporting"};
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
Program early_end() {
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
Program missing_fence() {
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
Program heavy_and_early_end() {
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
Program logged() {
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
  // The pruning is asked for by the words `how`.
  void pruning_changes_nothing(const std::string& recovery, const std::vector<std::string>& how);
  // `program-judge` with these requests.
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
std::pair<uint64_t, BigInt> counted(const std::string& path) {
  TraceError error;
  auto reader = TraceReader::open(path, &error);
  auto model = make_adr(AtomPolicy::kAny, kPool);
  BigInt states = 0;
  const uint64_t points = for_each_crash_point(reader.get(), model.get(), [&](uint64_t) {
    BigInt product = 1;
    for (const auto& line : model->pending().lines()) product *= model->candidates(line.number).contents.size();
    states += product;
  });
  return {points, states};
}

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
  // One for each of the four lines that may be lost.
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
  // Where nothing is found, all of it is for exploring.
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

// Nothing is known then of what should be printed, though operations are marked.
TEST_F(ProgramCommand, ARecoveryThatAlwaysFailsIsNoMissingMark) {
  write(early_end());
  const Told told =
      run({"--recover", command_json({"exit", "{image}", "4"}), "--dump", command_json({"dump", "{image}"})});
  EXPECT_EQ(told.of("finding")[0]["invariant"], "recovery-failed");
  EXPECT_THAT(told.result()["not_checked"]["notes"].dump(), HasSubstr("fails where each operation has ended"));
}

// Of what all print, the first step that is wrong is told of, with its command.
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
  // The dump shows it first, under the name that it has without probes.
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
  for (uint64_t line = 3; line < 9; ++line) program.store(64 * line, 1);
  write(program);
  const Told told = run_recovery("fail-or-hang", {"--timeout", "1"});
  std::set<std::string> invariants;
  for (const Json& finding : told.of("finding")) invariants.insert(finding["invariant"].get<std::string>());
  EXPECT_EQ(invariants, (std::set<std::string>{"recovery-failed", "recovery-hang"}));
}

TEST_F(ProgramCommand, SeveralPools) {
  Program program;
  program.store(0, 7);
  program.store(4096, 8);
  program.write(trace(), R"([{"path": "/nowhere/pool", "offset": 0, "size": 4096},
                             {"path": "/elsewhere/pool", "offset": 4096, "size": 100}])");
  // Both images have the pool's name, each is the right one.
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
      // How often images are repeated depends on the time that it takes.
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

std::string hex(const Content& content) {
  std::string out;
  for (const uint8_t byte : content.bytes) {
    for (const int digit : {byte >> 4, byte & 15}) out += "0123456789abcdef"[digit];
  }
  return out;
}

// Every legal image of the trace by the model's own candidates, each as a request, and whether the test recovery's
// "check" has to refuse it, by reading the image here.
struct LegalImages {
  std::vector<Json> requests;
  std::vector<bool> refused;
};
LegalImages legal_images(const std::string& path) {
  TraceError error;
  auto reader = TraceReader::open(path, &error);
  auto model = make_adr(AtomPolicy::kAny, kPool);
  LegalImages out;
  const auto visit = [&](uint64_t point) {
    std::vector<uint64_t> lines;
    std::vector<std::vector<Content>> contents;
    for (const auto& line : model->pending().lines()) {
      lines.push_back(line.number);
      contents.push_back(model->candidates(line.number).contents);
    }
    std::vector<size_t> at(lines.size());
    for (;;) {
      Json listed = Json::array();
      for (size_t i = 0; i < lines.size(); ++i) {
        listed.push_back({{"offset", lines[i] * kLineSize}, {"bytes", hex(contents[i][at[i]])}});
      }
      const auto word = [&](uint64_t offset) {
        const auto chosen = std::ranges::find(lines, offset / kLineSize) - lines.begin();
        const bool open = chosen < static_cast<ptrdiff_t>(lines.size());
        const Content content = open ? contents[chosen][at[chosen]] : model->floor(offset / kLineSize);
        uint64_t value = 0;
        std::memcpy(&value, content.bytes.data() + offset % kLineSize, 8);
        return value;
      };
      bool refused = false;
      for (uint64_t item = 1; item <= word(64); ++item) {
        for (uint64_t part = 0; part < 4; ++part) {
          refused = refused || word(Program::place(item, part)) != 100 * item + part;
        }
      }
      out.requests.push_back(
          {{"id", out.requests.size()}, {"crash_point", point}, {"rest", "floor"}, {"lines", listed}});
      out.refused.push_back(refused);
      size_t i = 0;
      while (i < lines.size() && ++at[i] == contents[i].size()) at[i++] = 0;
      if (i == lines.size()) break;
    }
  };
  for_each_crash_point(reader.get(), model.get(), visit);
  return out;
}

TEST_F(ProgramCommand, JudgesEveryLegalImageAsItsBytesSay) {
  write(missing_fence());
  const auto [requests, refused] = legal_images(trace());
  const Told told = judge(requests, {"--recover", command_json({"check", "{image}"}), "--jobs", "2"});
  EXPECT_EQ(told.exit, kExitOk) << told.events.back().dump();
  const auto judged = told.of("judged");
  ASSERT_EQ(judged.size(), requests.size());
  ASSERT_GT(judged.size(), 40u);
  size_t wrong = 0;
  for (size_t i = 0; i < judged.size(); ++i) {
    EXPECT_EQ(judged[i]["id"], i);
    EXPECT_EQ(judged[i]["legal"], true) << judged[i].dump();
    ASSERT_EQ(judged[i]["violations"].size(), refused[i] ? 1u : 0u) << judged[i].dump();
    if (!refused[i]) continue;
    ++wrong;
    EXPECT_EQ(judged[i]["violations"][0]["invariant"], "recovery-failed");
    EXPECT_THAT(judged[i]["violations"][0]["query"].get<std::string>(), HasSubstr("recover: "));
  }
  EXPECT_GT(wrong, 4u);
  EXPECT_FALSE(has_work());
}

TEST_F(ProgramCommand, AFindingsOwnImageShowsItAndNoOtherCrashPointsDoes) {
  write(early_end());
  const std::vector<std::string> words = {"--recover", command_json({"check", "{image}"}), "--dump",
                                          command_json({"dump", "{image}"})};
  const Json finding = run(words).of("finding").at(0);
  std::vector<Json> requests = {{{"id", "own"}, {"crash_point", finding["crash_point"]["index"]}, {"rest", "floor"}},
                                {{"id", "all"}, {"crash_point", "all"}, {"rest", "visible"}},
                                {{"id", "some"}, {"crash_point", {1, 2}}, {"rest", "visible"}},
                                {{"id", "far"}, {"crash_point", {0, 1 << 20}}, {"rest", "visible"}}};
  for (const Json& line : finding["image"]) {
    requests[0]["lines"].push_back({{"offset", line["offset"]}, {"bytes", line["bytes"]}});
  }
  const Told told = judge(requests, words);
  const uint64_t points = run(words).result()["crash_points"];
  std::map<std::string, uint64_t> count;
  for (const Json& judged : told.of("judged")) {
    ++count[judged["id"]];
    EXPECT_EQ(judged["legal"], true);
    if (judged["id"] != "own") {
      EXPECT_EQ(judged["violations"], Json::array());
      continue;
    }
    ASSERT_EQ(judged["violations"].size(), 1u);
    EXPECT_EQ(judged["violations"][0]["invariant"], finding["invariant"]);
    EXPECT_EQ(judged["violations"][0]["found"], finding["found"]);
    EXPECT_EQ(judged["violations"][0]["expected"], finding["expected"]);
    EXPECT_EQ(judged["violations"][0]["query"], finding["query"]["text"]);
    EXPECT_EQ(judged["when"], finding["crash_point"]["when"]);
  }
  const std::map<std::string, uint64_t> expected = {{"all", points}, {"far", points}, {"own", 1}, {"some", 2}};
  EXPECT_EQ(count, expected);
}

TEST_F(ProgramCommand, JudgesNoImageThatNoPowerCutLeaves) {
  Program program;
  program.item(1, false);
  write(program);
  const Json line = {{"offset", Program::place(1, 0)}, {"bytes", std::string(128, 'f')}};
  const Json cut = {{"after_return", true}, {"stores", Json::array()}, {"rest", "floor"}};
  const Told told = judge({{{"id", 0}, {"crash_point", 0}, {"rest", "floor"}, {"lines", {line}}},
                           {{"id", 1}, {"crash_point", 0}, {"rest", "floor"}, {"nested", {cut}}}},
                          {"--recover", command_json({"check", "{image}"})});
  const auto judged = told.of("judged");
  ASSERT_EQ(judged.size(), 2u);
  EXPECT_THAT(judged[0]["why"].get<std::string>(), HasSubstr("cannot hold these bytes"));
  EXPECT_THAT(judged[1]["why"].get<std::string>(), HasSubstr("is not cut"));
  for (const Json& one : judged) EXPECT_EQ(one["legal"], false);
}

TEST_F(ProgramCommand, JudgingEndsWithASentence) {
  Program program;
  program.item(1, false);
  write(program);
  const Json all = {{"id", 0}, {"crash_point", "all"}, {"rest", "floor"}};
  const std::vector<std::string> hang = {"--recover", command_json({"hang", "{image}"})};
  const Told late = judge({all}, {hang[0], hang[1], "--timeout", "60", "--budget-seconds", "0.3"});
  EXPECT_EQ(late.exit, kExitUnknown);
  EXPECT_THAT(late.of("error").at(0)["what"].get<std::string>(), HasSubstr("took longer than it may"));
  EXPECT_FALSE(has_work());
  const auto what = [&](const Json& request) {
    const Told told = judge({request}, {"--recover", command_json({"check", "{image}"})});
    EXPECT_EQ(told.exit, kExitUsage);
    return told.of("error").empty() ? "" : told.of("error")[0]["what"].get<std::string>();
  };
  EXPECT_THAT(what({{"id", 0}, {"crash_point", 99}, {"rest", "floor"}}), HasSubstr("the trace has"));
  EXPECT_THAT(what({{"id", 0}, {"crash_point", {2, 1}}, {"rest", "floor"}}), HasSubstr("[first, last]"));
  EXPECT_THAT(what({{"id", 0}, {"crash_point", {2}}, {"rest", "floor"}}), HasSubstr("[first, last]"));
}

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
  usleep(700'000);
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

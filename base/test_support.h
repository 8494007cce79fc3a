// Helpers of the engine's tests: plans, temporary folders, running the engine and reading its events.
#ifndef POWERCUT_BASE_TEST_SUPPORT_H_
#define POWERCUT_BASE_TEST_SUPPORT_H_

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/event_stream.h"
#include "base/temporary_folder.h"

namespace powercut::testing {

inline std::string library(const std::string& kind) {
  return std::string(POWERCUT_TEST_LIBRARIES) + "/libtest-array-map-" + kind + ".so";
}

// A plan for the array map with these phases.
inline Json plan_json(const std::vector<Json>& phases, const Json& options = Json::object()) {
  return {
      {"plan", 1},
      {"target", {{"library", library("good")}, {"name", "array-map"}, {"variant", "published"}, {"options", options}}},
      {"scenario",
       {{"name", "test"},
        {"pool_size", 65536},
        {"key_size", 16},
        {"value_size", 15},
        {"expect_marks", Json::array()},
        {"phases", phases}}},
      {"seed", 1}};
}

// Vectors, not Json: braces around one object would copy it instead of making a list.
inline Json phase_json(const std::vector<Json>& steps, bool explore = true, const Json& cut_at = nullptr) {
  return {{"name", explore ? "work" : "warm-up"}, {"explore", explore}, {"cut_at", cut_at}, {"steps", steps}};
}

inline void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct EngineRun {
  int exit = -1;
  std::string output;
  std::vector<Json> events;

  // The last event of this kind, or null.
  Json event(const std::string& kind) const {
    Json found;
    for (const Json& event : events) {
      if (event.value("event", "") == kind) found = event;
    }
    return found;
  }
};

// The build's engine, or the one that a test of the tests has broken (tests/house/test_mutants.py).
inline std::string engine() {
  const char* given = std::getenv("POWERCUT_ENGINE");
  return given == nullptr ? POWERCUT_TEST_ENGINE : given;
}

inline EngineRun run_engine(const std::vector<std::string>& arguments) {
  std::string command = "'" + engine() + "'";
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  command += " 2>/dev/null";
  EngineRun run;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) run.output.append(buffer.data(), got);
  int status = pclose(pipe);
  run.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) {
    Json event = Json::parse(line, nullptr, false);
    if (event.is_object()) run.events.push_back(event);
  }
  return run;
}

// Records `plan` into `folder`/run.pct.
inline EngineRun record(const TemporaryFolder& folder, const Json& plan, std::vector<std::string> more = {}) {
  write_file(folder.file("plan.json"), plan.dump());
  std::vector<std::string> arguments = {"record", "--plan", folder.file("plan.json"), "--trace",
                                        folder.file("run.pct")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_engine(arguments);
}

}  // namespace powercut::testing
#endif  // POWERCUT_BASE_TEST_SUPPORT_H_

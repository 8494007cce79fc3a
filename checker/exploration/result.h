// The result of an exploration, as the `result` event of reports/EVENTS.md. Each way of exploring fills in an
// ExplorationResult (chunks/result.h, walks/result.h); the event and the exit status are made of the result here.
#ifndef POWERCUT_CHECKER_EXPLORATION_RESULT_H_
#define POWERCUT_CHECKER_EXPLORATION_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/event_stream.h"

namespace powercut {

// How many of the crash states were looked at.
struct Coverage {
  bool complete = false;
  std::string covered = {};                         // crash states
  std::optional<std::string> total = std::nullopt;  // nothing: the number is not known
  Json nested_complete = nullptr;  // depth of cuts inside recovery, or whether those asked for are covered
  std::optional<bool> acknowledged = std::nullopt;  // whether outputs were held against operations; of programs
  Json schedules = nullptr;                         // null: there is one thread
  std::optional<Json> operations = std::nullopt;    // of programs; null: operations are not numbered
  std::optional<Json> lives = std::nullopt;         // second ones, where the continuation of a program was run
  std::string reason = {};                          // why the coverage is not complete
};

struct ExplorationResult {
  const char* verdict = "unknown";
  std::optional<bool> withdrawn = std::nullopt;  // whether findings are not to be trusted; of programs
  bool functional = false;
  uint64_t events = 0, crash_points = 0;
  std::string crash_states = {};
  uint64_t executions = 0, queries = 0;
  std::optional<uint64_t> query_runs = std::nullopt;  // of libraries
  uint64_t loads = 0, leaves = 0;
  Json counts = Json::object();  // the subject's own
  double seconds = 0;
  Json times = Json::object();  // the subject's own
  Coverage coverage = {};
  std::vector<std::string> assumptions = {};
  // Parts that were not checked.
  Json lines_never_read = nullptr, stores_never_reached = nullptr;  // null: not known
  std::vector<std::string> uninstrumented_calls = {};
  std::string atoms = {};
  std::vector<std::string> notes = {};

  Json event() const;
  int exit_code() const;
};

// The assumptions that a verdict rests on. `judged`: the assumptions about the build or the recovery that runs on the
// images. `store_buffers`: whether threads have store buffers.
std::vector<std::string> assumptions(const std::string& model, const std::string& atoms, const std::string& judged,
                                     bool store_buffers, double budget_seconds);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_RESULT_H_

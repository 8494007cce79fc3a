// The engine's side of reports/EVENTS.md: one JSON object a line, written whole and at once, so that
// what was announced survives a kill at any moment.
#ifndef POWERCUT_BASE_EVENT_STREAM_H_
#define POWERCUT_BASE_EVENT_STREAM_H_

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace powercut {

using Json = nlohmann::ordered_json;

class EventStream {
 public:
  // Takes standard output for itself and points file descriptor 1 at standard error: text that a
  // target prints can never mix with the events.
  static EventStream standard_output();
  // Writes to `fd`, which stays the caller's.
  explicit EventStream(int fd) : fd_(fd) {}

  // From now on the process ends at once when the reader has gone, also while it has nothing to say: foreign programs
  // may take long. Starts a thread.
  void end_when_unheard() const;

  void emit(const Json& event);
  void hello(const std::string& command);
  // All three end the stream and return the exit code to leave with.
  int end(int exit_code);
  int error(const EngineError& error);
  // Emits a command's only event and ends the stream, or tells of its error.
  int answer(const Result<Json>& event);

 private:
  int fd_;
};

}  // namespace powercut
#endif  // POWERCUT_BASE_EVENT_STREAM_H_

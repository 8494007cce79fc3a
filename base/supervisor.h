// Runs target code in a child process. Whatever the code does to its process (a wild pointer, abort, an endless loop),
// we stay able to say what happened and in which operation.
#ifndef POWERCUT_BASE_SUPERVISOR_H_
#define POWERCUT_BASE_SUPERVISOR_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/event_stream.h"

namespace powercut {

// Progress of the child, shared by both processes. The child alone writes; the parent reads the counter while the child
// runs, and the rest after its death.
struct Progress {
  std::atomic<uint64_t> steps;  // grows with every operation; the watchdog looks at it
  std::atomic<bool> answered;   // the body has returned: a target that calls exit() ends the process before
  char operation[256];
  char place[512];
  int signal;
  uint64_t address;  // of SIGSEGV and SIGBUS

  void start(std::string_view operation_text, std::string_view place_text);
};

struct ChildEnd {
  pid_t pid = 0;
  int exit_code = 0;                 // when it ended by itself
  std::string how;                   // when it did not: "insert(17) died of SIGSEGV at address 0x0"
  std::optional<EngineError> error;  // then as well: always kind harness, in the words of a recording
};

// Runs `body` in a child and waits. A child whose `steps` stand still for `stall_seconds` is killed.
ChildEnd supervise(double stall_seconds, const std::function<int(Progress&)>& body);

// As supervise(), for a child that ends the stream of events itself: the target can harm only a process that nobody
// needs. Returns the exit code to leave with: that of `body`, or of the error `broke` when it did not answer.
int answer_in_child(double stall_seconds, const EngineError& broke, EventStream& events,
                    const std::function<int(Progress&)>& body);

}  // namespace powercut
#endif  // POWERCUT_BASE_SUPERVISOR_H_

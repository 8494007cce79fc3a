#include "base/event_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <thread>

#include "base/descendants.h"
#include "base/engine_version.h"

namespace powercut {

namespace {
constexpr int kEventsVersion = 3;
}

EventStream EventStream::standard_output() {
  // Above the numbers that programs close by hand; a target must not close our stream by accident.
  int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 200);
  if (fd < 0) return EventStream(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return EventStream(fd);
}

void EventStream::end_when_unheard() const {
  std::thread([fd = fd_] {
    pollfd reader{fd, 0, 0};  // of a pipe without a reader: POLLERR
    while (poll(&reader, 1, -1) <= 0 || (reader.revents & (POLLERR | POLLNVAL)) == 0) {
    }
    _exit(kExitUnknown);
  }).detach();
}

void EventStream::emit(const Json& event) {
  // File names and keys may hold bytes that are not UTF-8: they are replaced, never thrown about.
  std::string line = event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const char* at = line.data();
  size_t rest = line.size();
  while (rest > 0) {
    ssize_t done = write(fd_, at, rest);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      // The reader is gone: nobody is left to tell, and going on would burn a CPU unheard.
      std::perror("powercut-engine: cannot write events");
      end_descendants();
      _exit(kExitUnknown);
    }
    at += done;
    rest -= static_cast<size_t>(done);
  }
}

void EventStream::hello(const std::string& command) {
  emit({{"event", "hello"}, {"version", kEventsVersion}, {"engine", engine_version()}, {"command", command}});
}

int EventStream::end(int exit_code) {
  emit({{"event", "end"}, {"exit", exit_code}});
  return exit_code;
}

int EventStream::error(const EngineError& error) {
  Json event{{"event", "error"},
             {"kind", error.kind == ErrorKind::kUsage ? "usage" : "harness"},
             {"what", error.what},
             {"where", error.where},
             {"next", error.next}};
  if (!error.needs.empty()) event["needs"] = error.needs;
  emit(event);
  return error.exit_code();
}

int EventStream::answer(const Result<Json>& event) {
  if (!event) return error(event.error());
  emit(*event);
  return end(kExitOk);
}

}  // namespace powercut

// `powercut-engine watch`: runs a command and tells which files it has changed, with all that it starts. Files of some
// folders are saved first, so that `powercut-engine put-back` can put them back.
//
//     powercut-engine watch --report=FILE [--saved=FOLDER] [--pool=FILE]… [--spare=PATH]… [--asks] -- COMMAND [WORD]…
//
// With --saved the files that come back (data_folders.h) are saved there. With --asks the command is powercut's own: a
// folder FILE.wanted that it makes is answered by the report, as far as it has come, before the call returns; and
// signals that ask to stop are handed on to it.
//
// It ends as the command does: with its status, or by its signal. The report is JSON: {"changed": [{"path", "named"}],
// "unseen": ["io_uring"], "failed": null}; `failed` is an errno of a command that could not be started.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/event_stream.h"
#include "engine/commands.h"
#include "tracer/other_files/call_filter.h"
#include "tracer/other_files/changed_files.h"
#include "tracer/other_files/data_folders.h"
#include "tracer/other_files/saved_files.h"

namespace powercut {
namespace {

// Seconds that processes of the command may outlive it and still be watched.
constexpr double kSettle = 0.3;
constexpr int kCannotStart = 127;
constexpr const char* kWanted = ".wanted";

pid_t stopped = 0;  // who is asked to stop in the place of this process

struct Watching {
  std::string report, saved;
  std::vector<std::string> pools, spared;
  bool asks = false;
  std::vector<char*> command;  // with a null at its end
};

std::optional<Watching> read_arguments(int argc, char** argv) {
  Watching out;
  int i = 0;
  for (; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    const auto value = [&](std::string_view name) { return word.substr(name.size()); };
    if (word.starts_with("--report=")) {
      out.report = value("--report=");
    } else if (word.starts_with("--saved=")) {
      out.saved = value("--saved=");
    } else if (word.starts_with("--pool=")) {
      out.pools.push_back(value("--pool="));
    } else if (word.starts_with("--spare=")) {
      out.spared.push_back(value("--spare="));
    } else if (word == "--asks") {
      out.asks = true;
    } else {
      return std::nullopt;
    }
  }
  for (++i; i < argc; ++i) out.command.push_back(argv[i]);
  if (out.report.empty() || out.command.empty()) return std::nullopt;
  out.command.push_back(nullptr);
  return out;
}

// The command's process, from its fork on. `listeners`: takes its listener; `failures`: why it cannot be started.
[[noreturn]] void be_the_command(const Watching& options, int listeners, int failures) {
  const int listener = powercut_tell_file_calls(kPowercutToldChanges);
  powercut_send_listener(listeners, listener, errno);
  close(listeners);
  if (listener >= 0) close(listener);
  execvp(options.command[0], options.command.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(failures, &error, sizeof error);
  _exit(kCannotStart);
}

class Watch {
 public:
  explicit Watch(const Watching& options)
      : options_(options),
        changed_(options.spared),
        saved_(options.saved),
        data_(options.pools, std::filesystem::current_path().string()) {}

  // Follows the command to its end; returns its status as waitpid() does.
  int follow(pid_t command, int listener) {
    const int ends = static_cast<int>(syscall(SYS_pidfd_open, command, 0));
    pollfd polled[] = {{ends, POLLIN, 0}, {listener, POLLIN, 0}};
    bool ended = false;
    double until = 0;
    while (!ended || (polled[1].fd >= 0 && seconds_now() < until)) {
      const int ready = poll(polled, 2, ended ? static_cast<int>((until - seconds_now()) * 1000) + 1 : -1);
      if (ready < 0) continue;
      if (polled[1].revents != 0 && !take(listener, polled[1].revents)) polled[1].fd = -1;
      if (!ended && polled[0].revents != 0) {
        ended = true;
        until = seconds_now() + kSettle;
        polled[0].fd = -1;
      }
    }
    close(ends);
    int status = 0;
    while (waitpid(command, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  void report(std::optional<int> failed, const std::string& unwatched) const {
    Json out = {{"changed", Json::array()}, {"unseen", Json::array()}, {"failed", nullptr}};
    for (const ChangedFiles::File& file : changed_.files()) {
      out["changed"].push_back({{"path", file.path}, {"named", file.named}});
    }
    for (const std::string& what : changed_.unseen()) out["unseen"].push_back(what);
    for (const std::string& path : unsaved_) out["unseen"].push_back("a change of " + path + ", which was refused");
    if (!unwatched.empty()) out["unseen"].push_back(unwatched);
    if (failed) out["failed"] = *failed;
    std::ofstream(options_.report) << out.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  bool take(int listener, short events) {
    if ((events & POLLIN) == 0) return false;
    return take_file_call(listener, [this](const FileCall& call) {
      if (options_.asks && is_asked(call)) report(std::nullopt, "");
      changed_.take(call);
      bool allowed = true;
      for (const FileUse& use : call.uses) {
        if (options_.saved.empty() || !changed_.counts(use) || !data_.comes_back(use)) continue;
        if (saved_.save(use.path, use.tree)) continue;
        unsaved_.insert(use.path);
        allowed = false;
      }
      return allowed;
    });
  }

  bool is_asked(const FileCall& call) const {
    const std::string folder = std::filesystem::weakly_canonical(options_.report + kWanted).string();
    return std::ranges::any_of(call.uses, [&](const FileUse& use) { return use.path == folder; });
  }

  const Watching& options_;
  ChangedFiles changed_;
  SavedFiles saved_;
  DataFolders data_;
  std::set<std::string> unsaved_;
};

// As the command has ended.
int end_alike(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(WTERMSIG(status), SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, WTERMSIG(status));
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

}  // namespace

int watch(int argc, char** argv) {
  const std::optional<Watching> options = read_arguments(argc, argv);
  int listeners[2], failures[2];
  if (!options || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, listeners) != 0 ||
      pipe2(failures, O_CLOEXEC) != 0) {
    return kExitUsage;
  }
  const pid_t command = fork();
  if (command < 0) return kExitUnknown;
  if (command == 0) be_the_command(*options, listeners[1], failures[1]);
  close(listeners[1]);
  close(failures[1]);
  // Who asks all to stop asks the command by itself; its files and its terminal are its own.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
  if (options->asks) {
    stopped = command;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, [](int asked) { kill(stopped, asked); });
  }
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
  const int listener = powercut_receive_listener(listeners[0]);
  const std::string unwatched = listener < 0 ? std::string("any call (") + std::strerror(errno) + ")" : "";
  Watch watch(*options);
  const int status = watch.follow(command, listener);
  int failed = 0;
  const bool started = read(failures[0], &failed, sizeof failed) != static_cast<ssize_t>(sizeof failed);
  watch.report(started ? std::nullopt : std::optional(failed), unwatched);
  return end_alike(status);
}

int put_back(int argc, char** argv) {
  if (argc != 1) return kExitUsage;
  return SavedFiles::put_back(argv[0]) ? kExitOk : kExitUnknown;
}

}  // namespace powercut

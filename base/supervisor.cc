#include "base/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/signal_name.h"

namespace powercut {

namespace {

// Signal handlers take no argument of ours. Set in the child alone, before its handlers.
Progress* child_progress = nullptr;

void on_fatal_signal(int signal, siginfo_t* info, void*) {
  child_progress->address = reinterpret_cast<uint64_t>(info->si_addr);
  child_progress->signal = signal;
  // SA_RESETHAND restored the default action: die of the signal itself.
  raise(signal);
}

void watch_signals() {
  // An overflowing stack cannot hold its own handler's frame.
  static std::vector<char> other_stack(64 << 10);
  stack_t stack{.ss_sp = other_stack.data(), .ss_flags = 0, .ss_size = other_stack.size()};
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) sigaction(signal, &action, nullptr);
  // The message is the product, not a core file in a build folder.
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

void copy_text(char* out, size_t size, std::string_view text) {
  size_t length = std::min(text.size(), size - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

std::string signal_text(int signal, const Progress& progress) {
  std::string text = signal_name(signal);
  if (progress.signal == signal && (signal == SIGSEGV || signal == SIGBUS)) {
    char address[32];
    std::snprintf(address, sizeof address, " at address 0x%llx", static_cast<unsigned long long>(progress.address));
    text += address;
  }
  return text;
}

// True when the child ended; false when it stood still for too long.
bool wait_for_end(pid_t pid, double stall_seconds, const Progress& progress) {
  using Clock = std::chrono::steady_clock;
  int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  uint64_t seen = progress.steps.load(std::memory_order_relaxed);
  Clock::time_point since = Clock::now();
  bool ended = false;
  while (!ended) {
    pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
    // Without a pidfd (an old kernel) poll() only sleeps, and waitid() notices the end.
    ended = poll(&wanted, fd >= 0 ? 1 : 0, fd >= 0 ? 200 : 20) > 0;
    if (!ended) {
      siginfo_t info{};
      ended = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
    }
    uint64_t now = progress.steps.load(std::memory_order_relaxed);
    if (now != seen) {
      seen = now;
      since = Clock::now();
    }
    if (!ended && std::chrono::duration<double>(Clock::now() - since).count() > stall_seconds) break;
  }
  if (fd >= 0) close(fd);
  return ended;
}

}  // namespace

void Progress::start(std::string_view operation_text, std::string_view place_text) {
  copy_text(operation, sizeof operation, operation_text);
  copy_text(place, sizeof place, place_text);
  steps.fetch_add(1, std::memory_order_relaxed);
}

ChildEnd supervise(double stall_seconds, const std::function<int(Progress&)>& body) {
  const char* ours = "Free some memory and try again.";
  void* page = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return {0, 0, "", harness_error("cannot map shared memory", "powercut-engine", ours)};
  auto* progress = new (page) Progress{};
  copy_text(progress->operation, sizeof progress->operation, "set-up");
  copy_text(progress->place, sizeof progress->place, "powercut-engine");

  std::fflush(nullptr);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kExitUnknown);
    child_progress = progress;
    watch_signals();
    int code = body(*progress);
    std::fflush(nullptr);
    progress->answered.store(true);
    // No destructors of the target's globals: it was stopped where it stood, perhaps by a power cut.
    _exit(code);
  }
  ChildEnd end{.pid = pid, .exit_code = 0, .how = "", .error = std::nullopt};
  if (pid < 0) {
    end.error = harness_error(std::string("cannot start a process: ") + std::strerror(errno), "powercut-engine", ours);
  } else {
    bool ended = wait_for_end(pid, stall_seconds, *progress);
    if (!ended) kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    std::string operation = progress->operation;
    if (!ended) {
      end.how = operation + " did not end within " + std::to_string(static_cast<int>(stall_seconds)) + " seconds";
      end.error = harness_error(end.how + ", without a power cut", progress->place,
                                "Correct the target, or give its scenario less to do in one operation.");
    } else if (WIFSIGNALED(status)) {
      end.how = operation + " died of " + signal_text(WTERMSIG(status), *progress);
      end.error = harness_error(end.how + ", without a power cut", progress->place,
                                "The target is broken by itself: correct it before looking for crash states.");
    } else if (!progress->answered.load()) {
      end.how = operation + " ended the process with exit status " + std::to_string(WEXITSTATUS(status));
      end.error = harness_error(end.how + ", without a power cut", progress->place,
                                "A target must return from each operation: take its call of exit or _exit out.");
    } else {
      end.exit_code = WEXITSTATUS(status);
    }
  }
  munmap(page, sizeof(Progress));
  return end;
}

int answer_in_child(double stall_seconds, const EngineError& broke, EventStream& events,
                    const std::function<int(Progress&)>& body) {
  const ChildEnd end = supervise(stall_seconds, body);
  if (!end.error) return end.exit_code;
  if (end.how.empty()) return events.error(*end.error);
  EngineError error = broke;
  error.what += ": " + end.how;
  error.next = "A fault of the target is caught and judged; one that ends the process is not. " + error.next;
  return events.error(error);
}

}  // namespace powercut

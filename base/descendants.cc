#include "base/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace powercut {
namespace {

constexpr size_t kMost = 32768;
constexpr int kRounds = 200;  // of 10 ms

// Static, since a handler has little stack and may not allocate. Only the main thread sweeps.
struct Process {
  pid_t pid, parent;
  bool ours;
};
std::array<Process, kMost> processes;
std::atomic<pid_t> always_spared{0};
std::atomic<pid_t> main_process{0};

pid_t number_of(const char* text) {
  pid_t out = 0;
  for (; *text >= '0' && *text <= '9'; ++text) out = out * 10 + (*text - '0');
  return *text == '\0' ? out : 0;
}

// The parent of a process that has not ended; 0 for any other.
pid_t parent_of(const char* pid) {
  char path[64] = "/proc/";
  const size_t length = std::strlen(pid);
  if (length > 20) return 0;
  std::memcpy(path + 6, pid, length);  // NOLINT(bugprone-not-null-terminated-result): "/stat" ends it
  std::memcpy(path + 6 + length, "/stat", 6);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[512];
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return 0;
  text[size] = '\0';
  // "7 (any name) S 3 …": the name may hold anything, but ends with the last parenthesis.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X' || at[3] != ' ') return 0;
  pid_t out = 0;
  for (const char* digit = at + 4; *digit >= '0' && *digit <= '9'; ++digit) out = out * 10 + (*digit - '0');
  return out;
}

size_t list_processes() {
  const int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  size_t count = 0;
  alignas(8) char buffer[8192];
  for (;;) {
    const long size = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (size <= 0) break;
    for (long at = 0; at < size && count < kMost;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      const pid_t pid = number_of(entry->d_name);
      if (pid == 0) continue;
      if (const pid_t parent = parent_of(entry->d_name); parent != 0) processes[count++] = {pid, parent, false};
    }
  }
  close(folder);
  return count;
}

bool is_ours(pid_t parent, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (processes[i].pid == parent) return processes[i].ours;
  }
  return false;
}

// Kills the living descendants once; how many there were.
size_t kill_all(std::span<const pid_t> spared) {
  const size_t count = list_processes();
  const pid_t self = getpid();
  const auto is_spared = [&](pid_t pid) {
    for (const pid_t one : spared) {
      if (one == pid) return true;
    }
    return pid == always_spared.load();
  };
  size_t killed = 0;
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < count; ++i) {
      Process& process = processes[i];
      if (process.ours || is_spared(process.pid)) continue;
      if (process.parent != self && !is_ours(process.parent, count)) continue;
      process.ours = more = true;
      kill(process.pid, SIGKILL);
      ++killed;
    }
  }
  return killed;
}

// Only those ended here: a spared child is for its own parent to wait for.
void reap(std::span<const pid_t> spared) {
  siginfo_t info;
  for (;;) {
    info.si_pid = 0;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    for (const pid_t one : spared) {
      if (one == info.si_pid) return;
    }
    waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

void sweep(std::span<const pid_t> spared) {
  for (int round = 0; round < kRounds; ++round) {
    const size_t living = kill_all(spared);
    reap(spared);
    if (living == 0) return;
    constexpr timespec kPause = {.tv_sec = 0, .tv_nsec = 10'000'000};
    if (round > 0) nanosleep(&kPause, nullptr);
  }
}

// Where it interrupts a sweep, that one never goes on: this process ends here.
void on_end(int number) {
  // A forked child has inherited the handler, not the duty.
  if (getpid() == main_process.load()) sweep({});
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void keep_descendants() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool has_children() {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void end_descendants(std::span<const pid_t> spared) {
  if (has_children()) sweep(spared);
}

void spare_always(pid_t process) { always_spared = process; }

void end_descendants_on_signals() {
  main_process = getpid();
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) signal(number, on_end);
}

void end_with_the_caller() {
  const char* named = getenv("POWERCUT_CALLER");
  const int pipe = named == nullptr ? -1 : atoi(named);
  unsetenv("POWERCUT_CALLER");
  if (pipe <= STDERR_FILENO || fcntl(pipe, F_SETFD, FD_CLOEXEC) != 0) return;
  // The kernel sends the signal when the last writer closes the pipe: no thread waits, which a fork would lose.
  fcntl(pipe, F_SETOWN, getpid());
  fcntl(pipe, F_SETSIG, SIGHUP);
  fcntl(pipe, F_SETFL, O_RDONLY | O_ASYNC);
  pollfd ended = {.fd = pipe, .events = POLLIN, .revents = 0};
  if (poll(&ended, 1, 0) > 0) raise(SIGHUP);  // it ended before
}

}  // namespace powercut

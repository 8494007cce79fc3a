#include "checker/subjects/program/processes/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/descendants.h"

namespace powercut {
namespace {

// Field 22 of /proc/<pid>/stat; 0 when there is no such process. The name before it may hold anything but ends with
// the last parenthesis.
unsigned long long start_time(pid_t process) {
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return 0;
  text[size] = '\0';
  const char* at = std::strrchr(text, ')');
  unsigned long long started = 0;
  if (at == nullptr) return 0;
  std::sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &started);
  return started;
}

// The children of all threads of this process.
std::vector<pid_t> children() {
  std::vector<pid_t> out;
  std::error_code ignored;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream list(thread.path() / "children");
    for (pid_t child; list >> child;) out.push_back(child);
  }
  return out;
}

// Killed processes may have children of their own, which the next rounds end.
void end_orphans(pid_t spared) {
  for (int round = 0; round < 200; ++round) {
    std::vector<pid_t> orphans = children();
    std::erase(orphans, spared);
    if (orphans.empty()) return;
    for (const pid_t orphan : orphans) {
      kill(orphan, SIGKILL);
      waitpid(orphan, nullptr, WNOHANG | __WALL);
    }
    if (round > 0) usleep(1000);
  }
}

std::string saved_in(const std::string& folder) { return folder + "/saved"; }

// Removes the folder. A process that is being killed may still make a file in a folder that is being emptied.
void remove_folder(const std::string& folder) {
  std::error_code wrong;
  for (int round = 0; round < 100; ++round) {
    std::filesystem::remove_all(folder, wrong);
    if (!std::filesystem::exists(folder, wrong)) return;
    usleep(10'000);
  }
}

// Puts back the saved files: no process is left that would change them. Where the files cannot be put back, the copies
// stay.
void put_back_and_remove(const std::string& folder) {
  if (SavedFiles::put_back(saved_in(folder))) return remove_folder(folder);
  std::fprintf(stderr,
               "powercut: files that recovery has changed cannot be put back; they are as they were in %s, and its "
               "journal names them.\n",
               saved_in(folder).c_str());
}

// Makes a private folder, in a session of its own that no signal to the caller's group reaches: whatever is killed,
// this process lives to remove the folder. Writes its path to `told`, or the error; then there is no folder.
std::string made_folder(const std::string& where, int told) {
  setsid();
  prctl(PR_SET_NAME, "powercut-guard");  // powercut/engine/orphans.py knows it by that
  std::string folder = std::filesystem::absolute(where).string() + "/powercut-XXXXXX";
  const bool made = mkdtemp(folder.data()) != nullptr;
  const std::string answer = made ? folder : std::strerror(errno);
  [[maybe_unused]] const ssize_t size = write(told, answer.data(), answer.size());
  return made ? folder : "";
}

// Returns all that comes out of a pipe.
std::string all_of(int pipe) {
  std::string out;
  char part[4096];
  for (ssize_t size; (size = read(pipe, part, sizeof part)) != 0;) {
    if (size > 0) out.append(part, static_cast<size_t>(size));
    if (size < 0 && errno != EINTR) break;
  }
  return out;
}

// Makes signals that end a process wait, in this process and in processes that it forks.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t wait;
    sigemptyset(&wait);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&wait, number);
    pthread_sigmask(SIG_BLOCK, &wait, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Result<std::unique_ptr<Guardian>> Guardian::start(const std::string& where) {
  std::unique_ptr<Guardian> out(new Guardian);
  // The guarding process must not end by a signal to the group before it leads a group of its own.
  const SignalsWait until_guarded;
  void* shared = mmap(nullptr, kMost * sizeof(Watched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2], told[2];
  if (shared == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0 || pipe2(told, O_CLOEXEC) != 0 ||
      (out->process_ = fork()) < 0) {
    return harness_error(std::string("no process can be started (") + std::strerror(errno) + ")", "powercut-engine",
                         "Look at the limits of processes and open files (ulimit -a).");
  }
  out->watched_ = static_cast<Watched*>(shared);
  if (out->process_ == 0) {
    const std::string folder = made_folder(where, told[1]);
    if (folder.empty()) _exit(1);
    keep_watch(ends[0], out->watched_, folder);
  }
  spare_always(out->process_);
  close(ends[0]);
  close(told[1]);
  const std::string answer = all_of(told[0]);
  close(told[0]);
  if (!answer.starts_with('/')) {
    close(ends[1]);
    waitpid(std::exchange(out->process_, -1), nullptr, 0);
    return usage_error("no folder for crash images can be made here (" + answer + ")", where,
                       "Name a folder that may be written to with --work, best on a tmpfs.");
  }
  out->pipe_ = ends[1];
  out->folder_ = answer;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return out;
}

void Guardian::keep_watch(int pipe, const Watched* watched, const std::string& folder) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(number, SIG_IGN);
  // Whoever reads the engine's output must not wait for this process.
  dup2(pipe, 3);
  const int nothing = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
  close_range(4, ~0u, 0);
  char byte;
  ssize_t size;
  while ((size = read(3, &byte, 1)) < 0 && errno == EINTR) {
  }
  if (size > 0) _exit(0);  // an orderly end
  // Servers see the end of the engine by themselves and take their runs along; after that, servers that hang are
  // killed.
  for (int round = 0; round < 100; ++round) {
    bool any = false;
    for (size_t i = 0; i < kMost; ++i) {
      const Watched& one = watched[i];
      if (one.process == 0 || one.started == 0 || start_time(one.process) != one.started) continue;
      any = true;
      if (round >= 20) kill(-one.process, SIGKILL);
    }
    if (!any && round > 0) break;
    usleep(50'000);
  }
  put_back_and_remove(folder);
  _exit(0);
}

Guardian::~Guardian() {
  if (process_ > 0) end_orphans(process_);
  files_.reset();
  if (!folder_.empty()) put_back_and_remove(folder_);
  if (pipe_ >= 0) {
    const char done = 1;
    [[maybe_unused]] const ssize_t told = write(pipe_, &done, 1);
    close(pipe_);
    waitpid(process_, nullptr, 0);
  }
  if (watched_ != nullptr) munmap(watched_, kMost * sizeof(Watched));
}

void Guardian::look_after(const std::vector<OtherFile>& changed, DataFolders data) {
  files_ = std::make_unique<FileWatch>(changed, std::move(data), folder_, saved_in(folder_));
}

void Guardian::watch(pid_t process) {
  const std::scoped_lock lock(mutex_);
  for (size_t i = 0; i < kMost; ++i) {
    if (watched_[i].process != 0) continue;
    watched_[i].started = start_time(process);
    watched_[i].process = process;
    return;
  }
}

void Guardian::forget(pid_t process) {
  const std::scoped_lock lock(mutex_);
  for (size_t i = 0; i < kMost; ++i) {
    if (watched_[i].process == process) watched_[i] = {};
  }
}

}  // namespace powercut

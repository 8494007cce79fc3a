#include "checker/subjects/program/schedules/scheduled_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/repeatable_process.h"

namespace powercut {
namespace {

using runtime::ScheduleFile;

// Seconds without a hook after which a program counts as waiting for ever: where none of its threads runs, and where a
// thread runs.
constexpr double kAllWait = 3, kStalled = 20;
constexpr size_t kBlock = 4096;

bool all_zero(const std::string& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

// Whether a thread of the process has work to do.
bool runs(pid_t process) {
  std::error_code ignored;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::ifstream file(task.path() / "stat");
    std::string text;
    std::getline(file, text);
    const size_t name = text.rfind(") ");
    if (name != std::string::npos && text[name + 2] != 'S') return true;
  }
  return false;
}

EngineError pool_error(const std::string& path) {
  return usage_error(std::string("the pool cannot be read and written (") + std::strerror(errno) + ")", path,
                     "Give it to a file that may be changed, and put back.");
}

}  // namespace

Result<std::unique_ptr<ScheduledRuns>> ScheduledRuns::create(ProgramToSchedule program, Guardian* guardian,
                                                             const std::atomic<bool>* cancel) {
  std::unique_ptr<ScheduledRuns> out(new ScheduledRuns(std::move(program), guardian, cancel));
  out->stream_ = out->folder_ + "/stream";
  if (auto wrong = out->keep_pools()) return *wrong;
  const std::string path = out->folder_ + "/schedule";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* mapped = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, sizeof(ScheduleFile)) == 0) {
    mapped = mmap(nullptr, sizeof(ScheduleFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (fd >= 0) close(fd);
  if (mapped == MAP_FAILED) {
    return harness_error(std::string("cannot be made (") + std::strerror(errno) + ")", path, "Free some memory.");
  }
  out->file_ = static_cast<ScheduleFile*>(mapped);
  return out;
}

ScheduledRuns::~ScheduledRuns() {
  if (file_ != nullptr) munmap(file_, sizeof(ScheduleFile));
}

std::optional<EngineError> ScheduledRuns::keep_pools() {
  for (const std::string& path : program_.pools) {
    PoolCopy copy{.path = path};
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT) return pool_error(path);
    if (fd >= 0) {
      struct stat status{};
      fstat(fd, &status);
      copy.exists = true;
      copy.size = static_cast<uint64_t>(status.st_size);
      copy.mode = status.st_mode & 07777;
      off_t at = 0;
      while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
        at -= at % static_cast<off_t>(kBlock);
        std::string block(kBlock, '\0');
        const ssize_t size = pread(fd, block.data(), kBlock, at);
        if (size <= 0) break;
        block.resize(static_cast<size_t>(size));
        if (!all_zero(block)) copy.blocks.emplace_back(at, block);
        at += static_cast<off_t>(kBlock);
      }
      close(fd);
    }
    pools_.push_back(std::move(copy));
  }
  return std::nullopt;
}

std::optional<EngineError> ScheduledRuns::put_pools_back() const {
  for (const PoolCopy& copy : pools_) {
    if (!copy.exists) {
      if (unlink(copy.path.c_str()) != 0 && errno != ENOENT) return pool_error(copy.path);
      continue;
    }
    const int fd = open(copy.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, copy.mode);
    bool done = fd >= 0 && ftruncate(fd, 0) == 0 && ftruncate(fd, static_cast<off_t>(copy.size)) == 0;
    for (const auto& [at, bytes] : copy.blocks) {
      done =
          done && pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at)) == static_cast<ssize_t>(bytes.size());
    }
    if (fd >= 0) close(fd);
    if (!done) return pool_error(copy.path);
  }
  return std::nullopt;
}

bool ScheduledRuns::add_places(const std::vector<uint64_t>& places) {
  for (const uint64_t place : places) {
    if (file_->places == runtime::kMostPlaces) return false;
    file_->place[file_->places++] = place;
  }
  return true;
}

void ScheduledRuns::prepare(const ScheduleRequest& request) {
  file_->version = runtime::kScheduleVersion;
  file_->tail = request.tail;
  file_->seed = request.seed;
  file_->changes = request.changes;
  file_->length = request.length;
  file_->every_store = program_.every_store ? 1 : 0;
  file_->choices = static_cast<uint32_t>(request.choices.size());
  std::copy(request.choices.begin(), request.choices.end(), file_->choice);
  file_->order_length = static_cast<uint32_t>(std::min(request.order.size(), runtime::kMostOrder));
  std::copy_n(request.order.begin(), file_->order_length, file_->order);
  file_->owner = 0;
  file_->so_far = 0;
  file_->beats = 0;
  file_->threads = file_->decisions = file_->found = 0;
  file_->end = runtime::ScheduleEnd::kUnknown;
  file_->doubt[0] = file_->text[0] = '\0';
}

Result<pid_t> ScheduledRuns::start() const {
  std::string files;
  for (const std::string& pool : program_.pools) files += (files.empty() ? "" : ":") + pool;
  std::vector<std::string> environment;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    const bool ours = variable.starts_with("POWERCUT_STREAM") || variable.starts_with("POWERCUT_POOL") ||
                      variable.starts_with("POWERCUT_SCHEDULE") || variable.starts_with("POWERCUT_TRACE") ||
                      variable.starts_with("LD_BIND_NOW=");
    if (!ours) environment.emplace_back(variable);
  }
  environment.push_back("POWERCUT_STREAM=" + stream_);
  environment.push_back("POWERCUT_POOL_FILES=" + files);
  environment.push_back("POWERCUT_SCHEDULE=" + folder_ + "/schedule");
  // No symbol is looked up later, by whichever thread comes first.
  environment.push_back("LD_BIND_NOW=1");
  std::vector<char*> words, variables;
  for (const std::string& word : program_.words) words.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  words.push_back(nullptr);
  variables.push_back(nullptr);
  const std::string out = output(), err = errors();
  const std::string in = program_.input.empty() ? "/dev/null" : program_.input;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return harness_error(std::strerror(errno), program_.words[0], "Look at the limit of open files (ulimit -n).");
  }
  const pid_t engine = getpid();
  const pid_t process = fork();
  if (process == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != engine) _exit(127);
    personality(ADDR_NO_RANDOMIZE);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
    const int input = open(in.c_str(), O_RDONLY);
    const int said = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int complained = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int problem = 0;
    if (input < 0 || said < 0 || complained < 0 || dup2(input, 0) < 0 || dup2(said, 1) < 0 || dup2(complained, 2) < 0 ||
        chdir(program_.cwd.c_str()) != 0) {
      problem = errno;
    } else {
      close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
      execvpe(words[0], words.data(), variables.data());
      problem = errno;
    }
    [[maybe_unused]] const ssize_t told = write(ends[1], &problem, sizeof problem);
    _exit(127);
  }
  close(ends[1]);
  int problem = process < 0 ? errno : 0;
  while (process > 0 && read(ends[0], &problem, sizeof problem) < 0 && errno == EINTR) {
  }
  close(ends[0]);
  if (problem != 0) {
    if (process > 0) waitpid(process, nullptr, 0);
    return usage_error(std::string("cannot be started (") + std::strerror(problem) + ")", program_.words[0],
                       "Correct the command, or run it by hand to see what is wrong.");
  }
  return process;
}

std::string ScheduledRuns::supervise(pid_t process, int* status) const {
  std::string stalled;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  const double began = seconds_now();
  double changed = began;
  uint64_t beats = 0;
  for (;;) {
    pollfd ended{.fd = handle, .events = POLLIN, .revents = 0};
    if (poll(&ended, 1, 50) > 0) break;
    const uint64_t seen = file_->beats.load(std::memory_order_relaxed);
    if (seen != beats) changed = seconds_now();
    beats = seen;
    if (*cancel_) {
      stalled = "interrupted";
    } else if (seconds_now() - changed > kAllWait && !runs(process)) {
      stalled =
          "a thread that had to go on waits in a system call, or in code without hooks, for what no other thread can "
          "do "
          "meanwhile";
    } else if (seconds_now() - changed > kStalled) {
      stalled = "a thread does not come to a hook: it computes for long, or in a loop without end";
    } else if (program_.most_seconds > 0 && seconds_now() - began > program_.most_seconds) {
      stalled = "one schedule takes longer than the recording may (--record-timeout)";
    }
    if (!stalled.empty()) break;
  }
  // All processes that the program has started are killed as well.
  kill(-process, SIGKILL);
  int how = 0;
  while (waitpid(process, &how, 0) < 0 && errno == EINTR) {
  }
  close(handle);
  *status = WIFSIGNALED(how) ? -WTERMSIG(how) : WEXITSTATUS(how);
  return stalled;
}

Result<ScheduledRun> ScheduledRuns::run(const ScheduleRequest& request) {
  if (auto wrong = put_pools_back()) return *wrong;
  unlink(stream_.c_str());
  prepare(request);
  auto process = start();
  if (!process) return process.error();
  guardian_->watch(*process);
  ScheduledRun out;
  out.stalled = supervise(*process, &out.status);
  guardian_->forget(*process);
  out.followed = file_->owner != 0;
  out.decisions.assign(file_->log, file_->log + std::min<size_t>(file_->decisions, runtime::kMostDecisions));
  out.found.assign(file_->found_place, file_->found_place + std::min<size_t>(file_->found, runtime::kMostPlaces));
  out.threads = file_->threads;
  out.end = file_->end;
  out.did = file_->so_far;
  out.doubt = file_->doubt;
  out.text = file_->text;
  return out;
}

}  // namespace powercut

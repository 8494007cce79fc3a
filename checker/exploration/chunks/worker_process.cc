#include "checker/exploration/chunks/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/descendants.h"
#include "checker/exploration/reached_stores.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNoTrace = 5;  // exit status of a worker that cannot walk to its chunk
constexpr int kParentGone = 6;

void send(int fd, std::string_view kind, const std::string& payload) {
  const std::string packet = pack(kind, payload);
  for (size_t sent = 0; sent < packet.size();) {
    const ssize_t n = write(fd, packet.data() + sent, packet.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(kParentGone);
    sent += static_cast<size_t>(n);
  }
}

// From the start of the trace to the first crash point of `chunk`, in a pool of zeroes.
std::unique_ptr<TraceFollower> walk_to(const WorkerProcess::Task& task, WorkerSlot* slot) {
  auto reader = open_trace(task.options.trace);
  const uint64_t pool_size = task.loaded.plan.scenario.pool_size;
  if (!reader || !clear_pool(pool_size)) return nullptr;
  auto follower = std::make_unique<TraceFollower>(task.loaded, task.options.model, task.options.policy(),
                                                  std::move(*reader), pool_bytes());
  const auto alive = [slot](const Event&) { slot->visits.fetch_add(1, std::memory_order_relaxed); };
  while (follower->next(alive)) {
    if (follower->instant().ordinal == task.chunk.first) return follower;
    follower->follow();
  }
  return nullptr;
}

// Watches for processes that the target starts. They are ended soon, since every execution could start as much again;
// a child of its that comes back from target code is not a worker, and leaves.
class Strangers {
 public:
  explicit Strangers(WorkerSlot* slot) : slot_(slot) {
    keep_descendants();
    // A page that a forked child finds empty: to look at it costs no system call.
    void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || madvise(page, kPage, MADV_WIPEONFORK) != 0) return;
    mine_ = static_cast<volatile char*>(page);
    *mine_ = 1;
  }

  void after_execution() {
    if (mine_ != nullptr ? *mine_ == 0 : getpid() != worker_) _exit(0);
    slot_->beats.fetch_add(1, std::memory_order_relaxed);
    if (++executions_ % kExecutionsPerLook == 0) end_them();
  }

  void end_them() {
    if (!has_children()) return;
    slot_->forked = true;
    end_descendants();
  }

 private:
  static constexpr size_t kPage = 4096;
  static constexpr uint64_t kExecutionsPerLook = 16;  // looking is a system call; most executions take microseconds

  WorkerSlot* slot_;
  const pid_t worker_ = getpid();
  volatile char* mine_ = nullptr;
  uint64_t executions_ = 0;
};

[[noreturn]] void work(const WorkerProcess::Task& task, WorkerSlot* slot, int out) {
  Strangers strangers(slot);
  std::unique_ptr<TraceFollower> walked;
  if (task.follower == nullptr && (walked = walk_to(task, slot)) == nullptr) _exit(kNoTrace);
  Exploration exploration(
      task.loaded, task.options, walked ? walked.get() : task.follower,
      [out](const Json& finding) {
        send(out, "finding", finding.dump(-1, ' ', false, Json::error_handler_t::replace));
      },
      [&strangers] { strangers.after_execution(); }, &slot->stop);
  const auto watch = [slot, &strangers](const Exploration::Reached& reached) {
    strangers.end_them();
    slot->ordinal = reached.ordinal;
    slot->crash_points = reached.crash_points;
    slot->executions = reached.executions;
    slot->covered = reached.covered.convert_to<double>();
    ++slot->visits;
    return !slot->stop.load();
  };
  const std::string result = encode(exploration.explore(task.chunk, task.skip, watch));
  strangers.end_them();
  send(out, "chunk", result);
  _exit(0);
}

}  // namespace

WorkerProcess::~WorkerProcess() { end(); }

void WorkerProcess::start(const Task& task, std::span<WorkerProcess* const> others) {
  chunk_ = task.chunk;
  others_.assign(others.begin(), others.end());
  slot_->ordinal = task.chunk.first;
  slot_->stop = slot_->forked = false;
  slot_->crash_points = slot_->executions = 0;
  slot_->covered = 0;
  last_visits_ = slot_->visits;
  last_beats_ = slot_->beats;
  last_visit_ = last_change_ = Clock::now();
  hung_for_ = 0;
  blocked_ = false;
  parser_ = {};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("no pipe for a worker: ") + strerror(errno));
  fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    close(ends[0]);
    close(ends[1]);
    throw std::runtime_error(std::string("no process for a worker: ") + strerror(errno));
  }
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kParentGone);
    signal(SIGINT, SIG_IGN);  // the parent asks the workers to stop
    signal(SIGTERM, SIG_DFL);
    close(ends[0]);
    for (const WorkerProcess* other : others) {
      if (other->messages_ >= 0) close(other->messages_);
    }
    keep_reached_stores();
    work(task, slot_, ends[1]);
  }
  close(ends[1]);
  messages_ = ends[0];
}

bool WorkerProcess::read_some() {
  // The pipe alone does not tell: a process that the target started holds it open after the worker has died. All
  // packets that a worker sent before its death are in the pipe by the time that the death is seen.
  siginfo_t ended{};
  const bool dead =
      waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0;
  char buffer[65536];
  pollfd ready{messages_, POLLIN, 0};
  while (poll(&ready, 1, 0) > 0) {
    const ssize_t n = read(messages_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    parser_.feed({buffer, static_cast<size_t>(n)});
  }
  return !dead && !parser_.damaged();
}

void WorkerProcess::watch(double still, double at_one_point) {
  const auto now = Clock::now();
  const auto since = [&now](Clock::time_point then) { return std::chrono::duration<double>(now - then).count(); };
  const bool visited = slot_->visits != last_visits_;
  if (visited) last_visit_ = now;
  if (visited || slot_->beats != last_beats_) last_change_ = now;
  last_visits_ = slot_->visits;
  last_beats_ = slot_->beats;
  if (hung_for_ > 0) return;
  if (since(last_change_) > still) {
    blocked_ = true;
    hung_for_ = still;
  } else if (at_one_point > 0 && since(last_visit_) > at_one_point) {
    hung_for_ = at_one_point;
  } else {
    return;
  }
  kill(pid_, SIGKILL);
}

std::string WorkerProcess::end() {
  if (pid_ < 0) return "";
  // A worker that is leaving has its status by now. A worker that only closed the pipe, as a target may by accident,
  // never leaves.
  kill(pid_, SIGKILL);
  close(std::exchange(messages_, -1));
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  // Processes that the worker had started have come to this process.
  std::vector<pid_t> living;
  for (const WorkerProcess* other : others_) {
    if (other != this && other->pid_ >= 0) living.push_back(other->pid_);
  }
  pid_ = -1;
  if (status != 0) end_descendants(living);
  const auto seconds = [this] { return Json(hung_for_).dump() + " s"; };
  if (blocked_) return "was in recovery or a query for " + seconds();
  if (hung_for_ > 0) return "was at work for " + seconds();
  if (WIFSIGNALED(status)) return std::string("died of SIG") + sigabbrev_np(WTERMSIG(status));
  return "left with exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace powercut

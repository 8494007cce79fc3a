#include "checker/native/workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <optional>

#include "absl/container/flat_hash_set.h"

namespace powercut {
namespace {

constexpr uint64_t kChunk = 512;  // crash points

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

volatile sig_atomic_t interrupted = 0;

// What a worker is at, readable after it died.
struct alignas(64) Slot {
  std::atomic<uint64_t> ordinal;
  std::atomic<uint64_t> visits;  // grows with each crash point
  std::atomic<bool> stop;
};

void send(int fd, const Json& message) {
  const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = write(fd, line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);  // the parent is gone
    sent += static_cast<size_t>(n);
  }
}

Json to_json(uint64_t chunk, const ChunkCounts& counts, const std::vector<uint64_t>& leaves) {
  return {{"type", "chunk"},
          {"chunk", chunk},
          {"crash_points", counts.crash_points},
          {"executions", counts.executions},
          {"query_runs", counts.query_runs},
          {"query_answers", counts.query_answers},
          {"loads", counts.loads},
          {"exploring", counts.exploring_seconds},
          {"covered", counts.covered.str()},
          {"complete", counts.complete},
          {"stopped", counts.stopped},
          {"distrust", counts.distrust},
          {"leaves", leaves}};
}

// The worker: reads "chunk first last [skipped…]" lines, answers with findings and one chunk message each.
[[noreturn]] void work(const Session& session, const ExploreOptions& options, int in, int out, Slot* slot) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto reader = open_trace(options.trace);
  if (!reader) _exit(1);
  Exploration exploration(session, options, std::move(*reader), [out](uint64_t ordinal, const Json& finding) {
    send(out, {{"type", "finding"}, {"ordinal", ordinal}, {"finding", finding}});
  });
  const auto begin = [slot](uint64_t ordinal) {
    slot->ordinal = ordinal;
    ++slot->visits;
    return !slot->stop.load();
  };
  FILE* commands = fdopen(in, "r");
  char* line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, commands) > 0) {
    const Json command = Json::parse(line);
    const std::set<uint64_t> skip = command["skip"].get<std::set<uint64_t>>();
    const ChunkCounts counts = exploration.explore(command["first"], command["last"], skip, begin);
    Json message = to_json(command["chunk"], counts, exploration.take_leaves());
    // Bitmap of the written lines that were read, as hex digits of four lines each.
    std::string bitmap;
    const uint64_t lines = session.plan.scenario.pool_size / kLineSize;
    for (uint64_t i = 0; i < lines; i += 4) {
      int digit = 0;
      for (uint64_t k = 0; k < 4 && i + k < lines; ++k) digit |= exploration.ever_read(i + k) << k;
      bitmap += "0123456789abcdef"[digit];
    }
    message["read"] = bitmap;
    send(out, message);
    if (!counts.distrust.empty()) _exit(4);
  }
  _exit(0);
}

struct Worker {
  pid_t pid = -1;
  int commands = -1, messages = -1;
  Slot* slot = nullptr;
  std::string partial;            // an incomplete line
  std::optional<uint64_t> chunk;  // at work on
  uint64_t last_visits = 0;
  Clock::time_point last_change;
  bool killed = false;  // by the watchdog
};

class Pool {
 public:
  Pool(const Session& session, const ExploreOptions& options, uint64_t crash_points,
       const std::function<void(const Json&)>& announce, const std::function<void(const MergedCounts&)>& progress)
      : session_(session), options_(options), crash_points_(crash_points), announce_(announce), progress_(progress) {
    const uint64_t chunks = (crash_points + kChunk - 1) / kChunk;
    for (uint64_t c = 0; c < chunks; ++c) waiting_.push_back(c);
    const auto jobs = static_cast<size_t>(std::max<uint64_t>(1, std::min<uint64_t>(options.jobs, chunks)));
    slots_ = static_cast<Slot*>(
        mmap(nullptr, sizeof(Slot) * jobs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    workers_.resize(jobs);
    for (size_t i = 0; i < jobs; ++i) workers_[i].slot = slots_ + i;
    merged_.read_lines.resize(session.plan.scenario.pool_size / kLineSize);
  }
  ~Pool() { munmap(slots_, sizeof(Slot) * workers_.size()); }

  MergedCounts run() {
    struct sigaction action{}, old_int{}, old_term{};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
      hand_out();
      std::vector<pollfd> polled;
      for (const Worker& w : workers_) {
        if (w.chunk) polled.push_back({w.messages, POLLIN, 0});
      }
      if (polled.empty()) break;
      poll(polled.data(), polled.size(), 100);
      for (Worker& w : workers_) {
        if (w.chunk) listen(w);
      }
      if (interrupted && !merged_.interrupted) {
        merged_.interrupted = true;
        stop_all();
      }
      if (options_.budget_seconds > 0 && seconds_since(start_) > options_.budget_seconds && !merged_.out_of_time) {
        merged_.out_of_time = true;
        stop_all();
      }
      watch();
      if (seconds_since(reported_) > 0.25) {
        reported_ = Clock::now();
        progress_(merged_);
      }
    }
    for (Worker& w : workers_) retire(w);
    if (merged_through_ * kChunk < crash_points_) merged_.sum.complete = false;
    merged_.leaves = leaves_.size();
    sigaction(SIGINT, &old_int, nullptr);
    sigaction(SIGTERM, &old_term, nullptr);
    return std::move(merged_);
  }

 private:
  void stop_all() {
    waiting_.clear();
    for (Worker& w : workers_) w.slot->stop = true;
  }

  void hand_out() {
    for (Worker& w : workers_) {
      if (w.chunk || waiting_.empty()) continue;
      // A worker only moves forward in the trace.
      if (w.pid < 0) start(w);
      const uint64_t chunk = waiting_.front();
      waiting_.pop_front();
      if (w.pid >= 0 && last_given_[&w] > chunk) {
        retire(w);
        start(w);
      }
      last_given_[&w] = chunk;
      w.chunk = chunk;
      w.last_change = Clock::now();
      w.last_visits = w.slot->visits;
      const Json command = {{"chunk", chunk},
                            {"first", chunk * kChunk},
                            {"last", std::min((chunk + 1) * kChunk, crash_points_)},
                            {"skip", skip_}};
      send(w.commands, command);
    }
  }

  void start(Worker& w) {
    int commands[2], messages[2];
    if (pipe(commands) != 0 || pipe(messages) != 0) throw std::runtime_error("no pipes for a worker");
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("no process for a worker");
    if (pid == 0) {
      signal(SIGINT, SIG_IGN);  // the parent asks the workers to stop
      signal(SIGTERM, SIG_DFL);
      close(commands[1]);
      close(messages[0]);
      for (const Worker& other : workers_) {
        if (other.commands >= 0) close(other.commands);
        if (other.messages >= 0) close(other.messages);
      }
      work(session_, options_, commands[0], messages[1], w.slot);
    }
    close(commands[0]);
    close(messages[1]);
    w.pid = pid;
    w.commands = commands[1];
    w.messages = messages[0];
    w.partial.clear();
    w.killed = false;
    last_given_[&w] = 0;
  }

  void retire(Worker& w) {
    if (w.pid < 0) return;
    close(w.commands);
    close(w.messages);
    w.commands = w.messages = -1;
    waitpid(w.pid, nullptr, 0);
    w.pid = -1;
  }

  void listen(Worker& w) {
    char buffer[65536];
    pollfd ready{w.messages, POLLIN, 0};
    while (w.chunk && poll(&ready, 1, 0) > 0) {
      const ssize_t n = read(w.messages, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        died(w);
        return;
      }
      w.partial.append(buffer, static_cast<size_t>(n));
      for (size_t end; (end = w.partial.find('\n')) != std::string::npos;) {
        const Json message = Json::parse(w.partial.substr(0, end));
        w.partial.erase(0, end + 1);
        receive(w, message);
      }
    }
  }

  void receive(Worker& w, const Json& message) {
    if (message["type"] == "finding") {
      // Under a budget in executions a finding counts only once its chunk does.
      if (options_.budget_executions > 0) {
        held_[*w.chunk].push_back(message["finding"]);
      } else {
        announce(message["finding"]);
      }
      return;
    }
    const uint64_t chunk = message["chunk"];
    const std::string distrust = message["distrust"];
    if (!distrust.empty()) {
      // The worker leaves after this message. Its chunk is done again up to and without that crash point.
      merged_.troubles.push_back(distrust);
      skip_.insert(w.slot->ordinal);
      held_.erase(chunk);
      waiting_.push_front(chunk);
      w.chunk.reset();
      retire(w);
      return;
    }
    done_[chunk] = message;
    w.chunk.reset();
    merge();
  }

  void announce(const Json& finding) {
    auto& known = merged_.findings[finding["key"].get<std::string>()];
    const bool earlier = known.is_null() || finding["crash_point"]["index"].get<uint64_t>() <
                                                known["crash_point"]["index"].get<uint64_t>();
    if (!earlier) return;
    known = finding;
    announce_(finding);
  }

  // Adds finished chunks in their order.
  void merge() {
    for (auto next = done_.find(merged_through_); next != done_.end() && !merged_.out_of_executions;
         next = done_.find(merged_through_)) {
      const Json& m = next->second;
      ChunkCounts& sum = merged_.sum;
      sum.crash_points += m["crash_points"].get<uint64_t>();
      sum.executions += m["executions"].get<uint64_t>();
      sum.query_runs += m["query_runs"].get<uint64_t>();
      sum.query_answers += m["query_answers"].get<uint64_t>();
      sum.loads += m["loads"].get<uint64_t>();
      sum.exploring_seconds += m["exploring"].get<double>();
      sum.covered += BigInt(m["covered"].get<std::string>());
      sum.complete = sum.complete && m["complete"].get<bool>();
      for (const Json& leaf : m["leaves"]) leaves_.insert(leaf.get<uint64_t>());
      const std::string& bitmap = m["read"].get_ref<const std::string&>();
      for (size_t i = 0; i < bitmap.size(); ++i) {
        const int digit = bitmap[i] <= '9' ? bitmap[i] - '0' : bitmap[i] - 'a' + 10;
        for (size_t k = 0; k < 4 && i * 4 + k < merged_.read_lines.size(); ++k) {
          if (digit >> k & 1) merged_.read_lines[i * 4 + k] = true;
        }
      }
      for (const Json& finding : held_[merged_through_]) announce(finding);
      done_.erase(next);
      ++merged_through_;
      if (options_.budget_executions > 0 && sum.executions >= options_.budget_executions &&
          merged_through_ * kChunk < crash_points_) {
        merged_.out_of_executions = true;  // chunks past the budget do not count, whoever was quick
        stop_all();
      }
    }
  }

  void died(Worker& w) {
    const uint64_t chunk = *w.chunk;
    const uint64_t at = w.slot->ordinal;
    int status = 0;
    waitpid(w.pid, &status, 0);
    w.pid = -1;
    close(w.commands);
    close(w.messages);
    w.commands = w.messages = -1;
    w.chunk.reset();
    held_.erase(chunk);
    const std::string how =
        w.killed ? "made no progress for " + std::to_string(static_cast<int>(options_.watchdog_seconds)) + " s"
        : WIFSIGNALED(status) ? std::string("died of SIG") + sigabbrev_np(WTERMSIG(status))
                              : "left with exit status " + std::to_string(WEXITSTATUS(status));
    if (++deaths_[at] >= 2) {
      skip_.insert(at);
      merged_.troubles.push_back("crash point " + std::to_string(at) + " was given up: a worker " + how +
                                 " there, twice");
    }
    if (!merged_.interrupted && !merged_.out_of_time) waiting_.push_front(chunk);
  }

  void watch() {
    for (Worker& w : workers_) {
      if (!w.chunk) continue;
      if (w.slot->visits != w.last_visits) {
        w.last_visits = w.slot->visits;
        w.last_change = Clock::now();
      } else if (seconds_since(w.last_change) > options_.watchdog_seconds && !w.killed) {
        w.killed = true;
        kill(w.pid, SIGKILL);
      }
    }
  }

  const Session& session_;
  const ExploreOptions& options_;
  const uint64_t crash_points_;
  const std::function<void(const Json&)>& announce_;
  const std::function<void(const MergedCounts&)>& progress_;
  std::deque<uint64_t> waiting_;
  std::vector<Worker> workers_;
  std::map<const Worker*, uint64_t> last_given_;
  Slot* slots_ = nullptr;
  std::map<uint64_t, Json> done_;               // finished, not yet merged
  uint64_t merged_through_ = 0;                 // chunks below are merged
  std::map<uint64_t, std::vector<Json>> held_;  // findings of chunks that are not yet merged
  std::set<uint64_t> skip_;
  std::map<uint64_t, int> deaths_;  // by crash point
  absl::flat_hash_set<uint64_t> leaves_;
  MergedCounts merged_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point reported_ = Clock::now();
};

}  // namespace

MergedCounts explore_all(const Session& session, const ExploreOptions& options, uint64_t crash_points,
                         const std::function<void(const Json&)>& announce,
                         const std::function<void(const MergedCounts&)>& progress) {
  return Pool(session, options, crash_points, announce, progress).run();
}

}  // namespace powercut

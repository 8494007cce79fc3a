// One worker: a process that is forked where its chunk begins, explores the chunk, sends the result and leaves.
#ifndef POWERCUT_CHECKER_EXPLORATION_CHUNKS_WORKER_PROCESS_H_
#define POWERCUT_CHECKER_EXPLORATION_CHUNKS_WORKER_PROCESS_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/packet.h"
#include "checker/exploration/chunks/exploration.h"

namespace powercut {

// The state of a worker's work. It lies in memory that the worker shares with its parent, readable after the worker
// died.
struct alignas(64) WorkerSlot {
  std::atomic<uint64_t> ordinal;  // of the crash point at hand
  std::atomic<uint64_t> visits;   // grows with each crash point, and on the way to the first
  std::atomic<uint64_t> beats;    // grows with each execution of target code
  std::atomic<bool> stop;         // asked for by the parent: leave at once, in the middle of a crash point
  std::atomic<bool> forked;       // target code started a process; the worker has ended it
  // Counts of the chunk so far, for people.
  std::atomic<uint64_t> crash_points, executions;
  std::atomic<double> covered;
};

class WorkerProcess {
 public:
  // `slot` is shared memory and outlives this.
  explicit WorkerProcess(WorkerSlot* slot) : slot_(slot) {}
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  struct Task {
    const LoadedTrace& loaded;
    const ExploreOptions& options;
    const std::set<uint64_t>& skip;  // crash points to pass over
    Chunk chunk;
    // A follower at the chunk's first crash point. Null: the worker walks there itself, from the start of the trace;
    // then the pool may hold anything.
    TraceFollower* follower;
  };
  // Forks. The worker closes the pipes of the `others`. Throws std::runtime_error when the system refuses.
  void start(const Task& task, std::span<WorkerProcess* const> others);
  bool running() const { return pid_ >= 0; }
  const Chunk& chunk() const { return chunk_; }
  WorkerSlot& slot() const { return *slot_; }
  int messages() const { return messages_; }

  // Takes in the bytes that the worker has sent. False when nothing more will come: the worker is gone, or sends bytes
  // that are no packet.
  bool read_some();
  // Returns the next packet that was taken in: packets "finding" (JSON) and, last, "chunk" (chunk_result.h).
  std::optional<Packet> next_packet() { return parser_.next(); }
  // Kills the worker when neither executions nor crash points move for longer than `still` seconds. Also kills a worker
  // that stands at one crash point for longer than `at_one_point` seconds, however busy it is there (0: no limit).
  void watch(double still, double at_one_point);
  // Whether watch() has killed the worker because nothing moved: an execution is blocked.
  bool blocked() const { return blocked_; }
  // Ends the worker if it has not ended, and returns how it ended: "died of SIGSEGV".
  std::string end();

 private:
  WorkerSlot* slot_;
  pid_t pid_ = -1;
  int messages_ = -1;
  Chunk chunk_;
  std::vector<WorkerProcess*> others_;  // all workers, this one included
  PacketParser parser_;
  uint64_t last_visits_ = 0, last_beats_ = 0;
  std::chrono::steady_clock::time_point last_visit_, last_change_;
  double hung_for_ = 0;  // seconds without movement, when the worker was killed for hanging
  bool blocked_ = false;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_CHUNKS_WORKER_PROCESS_H_

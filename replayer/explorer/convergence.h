// Tells where a recovery comes to where another one has been.
//
// A recovery that finishes what a cut operation has begun (a resize that moves every item) is cut at each of its steps,
// and the next one goes on from there: n recoveries of up to n steps, and as many again from each cut inside them. Yet
// all of them go through the same n situations. So behind each fence, when nothing of recovery's own is pending, a
// digest is taken of the machine's state and of what each line of the pool may hold. What follows is a function of
// both: the rest of recovery, the cuts inside it, what queries answer behind it. If a recovery of no more cuts has been
// there under the same obligations, nothing new follows. The argument: EXPLORER.md, "Recoveries that meet".
#ifndef POWERCUT_REPLAYER_EXPLORER_CONVERGENCE_H_
#define POWERCUT_REPLAYER_EXPLORER_CONVERGENCE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/executor/executor.h"
#include "replayer/search/subject.h"

namespace powercut {

class Convergence {
 public:
  static constexpr size_t kMostKnown = size_t{1} << 20;  // situations
  static constexpr size_t kMostReads = size_t{8} << 20;  // of the recoveries that were in them
  static constexpr uint64_t kMostFresh = 64 * 1024;      // bytes of heap that a recovery has allocated
  // For so many lines of the one that it meets, a recovery may have read one that this one does not.
  static constexpr uint64_t kLinesOfOne = 16;

  // It outlives this.
  explicit Convergence(Executor* executor) : executor_(executor) {}

  // ---- the medium ----------------------------------------------------------------------------------
  // A chunk begins.
  void forget();
  // The trace changed a line; `frontier` is the one after it.
  void trace_changed(const Frontier& frontier, const Frontier::Change& change);
  // A level below a cut begins, and ends. Call it before the level is installed.
  void push(const Frontier& frontier, const LineSets& sets);
  void pop();
  // Whether recovery has not begun on the medium at hand with as many cuts to come; with `each_depth`, with just as
  // many.
  bool begins(int depth, bool each_depth);
  // What was gone through is gone through again.
  void clear() {
    known_.clear();
    reads_ = 0;
  }

  // ---- one way through recovery --------------------------------------------------------------------
  // What it has done so far. It may meet another one only if it has done no more: so the most that any recovery does is
  // what is known of it.
  struct Done {
    uint64_t stores = 0, flushes = 0, fences = 0;
    std::vector<std::pair<uint64_t, uint8_t>> reads = {};  // words of the medium, and bytes of each
    absl::flat_hash_set<uint64_t> lines = {};              // of the first `counted` reads
    size_t counted = 0;
    size_t kept = 0;  // reads, when a situation was kept last
    void count_lines();
  };
  // A way begins, on which recovery or the trie makes the changes from `start` on. `way` is the same for executions and
  // followings of the same choices.
  void begin(const Frontier& frontier, const UndecidedMemory::Mark& start, uint64_t way);
  // It stands where the machine's state is `machine`, and nothing of its own is pending. True: another way has been
  // there.
  bool meets(const Signature& machine, int depth, const std::shared_ptr<Done>& done);

 private:
  struct Known {
    int depth = 0;
    uint64_t way = 0;
    uint64_t stores = 0, flushes = 0, fences = 0;  // until then
    std::shared_ptr<Done> done = {};               // in all; null where recovery begins
  };
  struct Level {
    Signature total;  // of what is above
    std::vector<std::pair<uint64_t, std::optional<Signature>>> replaced;
  };
  // Of the line at the level at hand, before recovery; `held` is what the pool has if it is definite.
  Signature at_level(uint64_t line, const Content& held) const;
  Signature medium();

  Executor* executor_;
  const Frontier* frontier_ = nullptr;
  Signature total_;                                    // of the level at hand: the sum over all contents of all lines
  absl::flat_hash_map<uint64_t, Signature> replaced_;  // lines that nested cuts made different
  std::vector<Level> levels_;

  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, Known> known_;
  size_t reads_ = 0;  // that known_ keeps

  uint64_t way_ = 0;
  UndecidedMemory::Mark seen_{};                  // of the journal, until there
  absl::flat_hash_map<uint64_t, Signature> own_;  // lines that recovery changed
  Signature sum_;                                 // what they add to the level's
};

// Takes digests of the machine's state along one execution.
class MachineDigests {
 public:
  // The execution makes its changes from `start` on; `answer` is what it writes to.
  MachineDigests(Executor* executor, const UndecidedMemory::Mark& start, const ResultBuffer* answer)
      : executor_(executor), seen_(start), answer_(answer) {}
  // Nothing, where the state is not known as a whole.
  std::optional<Signature> at(LiveState live);

 private:
  Executor* executor_;
  UndecidedMemory::Mark seen_;
  const ResultBuffer* answer_;
  absl::flat_hash_map<uint64_t, uint64_t> words_;  // outside pool and fresh heap: address -> before the execution
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_CONVERGENCE_H_

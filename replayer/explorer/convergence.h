// Tells when a recovery comes to a situation in which another recovery has been.
//
// Some recoveries finish an operation that a power cut has interrupted: a resize that moves every item. Such a recovery
// is cut at each of its steps, and the next recovery goes on from there. There are n recoveries of up to n steps, and
// as many again from each cut inside them. Yet all recoveries go through the same n situations. Behind each fence, when
// no store of recovery is pending, a digest is taken of the machine's state and of each line's possible contents. The
// state and the contents determine all that follows: the rest of recovery, the cuts inside the rest, the answers of
// queries. If a recovery of no more cuts has been in this situation under the same obligations, nothing new follows.
// The argument: EXPLORER.md, "Recoveries that meet".
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
  static constexpr size_t kMostReads = size_t{8} << 20;  // reads of the recoveries that were in these situations
  static constexpr uint64_t kMostFresh = 64 * 1024;      // bytes of heap that a recovery has allocated

  // Tolerance of a meeting: this recovery may have read one line more than the known one for each kLinesOfOne lines of
  // the known one.
  static constexpr uint64_t kLinesOfOne = 16;

  // `executor` outlives this object.
  explicit Convergence(Executor* executor) : executor_(executor) {}

  // ---- the medium ----------------------------------------------------------------------------------
  // Forgets everything: a chunk begins.
  void forget();
  // Tells that the trace changed a line; `frontier` is the frontier after the change.
  void trace_changed(const Frontier& frontier, const Frontier::Change& change);
  // A level below a cut begins, and ends. push() is called before the level is installed.
  void push(const Frontier& frontier, const LineSets& sets);
  void pop();
  // Returns whether recovery must run on the medium at hand: no recovery has begun there with as many or more cuts to
  // come. With `each_depth`, only a recovery with exactly as many cuts to come counts.
  bool begins(int depth, bool each_depth);
  // Returns the digest of the medium at the level at hand, before recovery; and where the way at hand has come to.
  Signature level() const { return total_; }
  Signature here() { return medium(); }
  // Forgets all situations: recoveries go through them again.
  void clear() {
    known_.clear();
    reads_ = 0;
  }

  // ---- one way through recovery --------------------------------------------------------------------
  // The work of one recovery so far. A recovery may meet a known one only if the known one had done at least as much.
  // Therefore the maxima over all recoveries (RecoveryPeaks) stay exact.
  struct Done {
    uint64_t stores = 0, flushes = 0, fences = 0;
    std::vector<std::pair<uint64_t, uint8_t>> reads = {};  // words of the medium, and bytes of each
    absl::flat_hash_set<uint64_t> lines = {};              // lines of the first `counted` reads
    size_t counted = 0;
    size_t kept = 0;  // reads, when a situation was kept last
    void count_lines();
  };
  // Begins a way, on which recovery or the trie makes the changes from `start` on. `way` numbers it: an execution and a
  // walk through the trie with the same choices have the same number.
  void begin(const Frontier& frontier, const UndecidedMemory::Mark& start, uint64_t way);
  // Call it where the machine's state is `machine` and no store of recovery is pending. Returns true if another way has
  // been in this situation; otherwise the situation is noted.
  bool meets(const Signature& machine, int depth, const std::shared_ptr<Done>& done);

 private:
  struct Known {
    int depth = 0;
    uint64_t way = 0;
    uint64_t stores = 0, flushes = 0, fences = 0;  // numbers until the situation
    std::shared_ptr<Done> done = {};               // work of the whole recovery; null where recovery begins
  };
  struct Level {
    Signature total;  // the digest of the level above
    std::vector<std::pair<uint64_t, std::optional<Signature>>> replaced;
  };
  // Returns the digest of the line at the level at hand, before recovery; `held` is the pool's content of a definite
  // line.
  Signature at_level(uint64_t line, const Content& held) const;
  Signature medium();

  Executor* executor_;
  const Frontier* frontier_ = nullptr;
  Signature total_;                                    // digest of the level at hand: the sum over all contents of all
                                                       // lines
  absl::flat_hash_map<uint64_t, Signature> replaced_;  // lines that nested cuts made different
  std::vector<Level> levels_;

  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, Known> known_;
  size_t reads_ = 0;  // number of reads that known_ keeps

  uint64_t way_ = 0;
  UndecidedMemory::Mark seen_{};                  // end of the part of the journal that own_ covers
  absl::flat_hash_map<uint64_t, Signature> own_;  // lines that recovery changed
  Signature sum_;                                 // their sum, to be added to total_
};

// Takes digests of the machine's state along one execution.
class MachineDigests {
 public:
  // The execution makes its changes from `start` on, and writes its answer to `answer`.
  MachineDigests(Executor* executor, const UndecidedMemory::Mark& start, const ResultBuffer* answer)
      : executor_(executor), seen_(start), answer_(answer) {}
  // Returns the digest of the state; nothing where a part of the state is not known.
  std::optional<Signature> at(LiveState live);

 private:
  Executor* executor_;
  UndecidedMemory::Mark seen_;
  const ResultBuffer* answer_;
  absl::flat_hash_map<uint64_t, uint64_t> words_;  // outside pool and fresh heap: address -> before the execution
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_CONVERGENCE_H_

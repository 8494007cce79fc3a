// Runs of the commands on legal trees, some at once, each repeated where repetitions are wanted.
//
// Recovery must be a function of its folder, and only repeating it tells. The first runs are made twice, later ones now
// and then: the second time by processes at other addresses, in another second, and on files with other times and inode
// numbers.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_TREE_RUNS_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_TREE_RUNS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "checker/exploration/trees/served_tree.h"
#include "checker/subjects/program/trees/tree_worker.h"

namespace powercut {

struct TreeRun {
  std::vector<AskedQuestion> asked;
  Outcomes::Id outcome = 0;
};

// The calls that recovery makes on a tree, and behind them those of the continuation.
struct RecoveryMade {
  std::vector<files::Effect> calls;
  size_t of_recovery = 0;
};

class TreeRuns {
 public:
  // All arguments outlive this object.
  TreeRuns(std::vector<std::unique_ptr<TreeWorker>>* workers, bool ordered, const ModeOf* mode, Outcomes* outcomes)
      : workers_(*workers), ordered_(ordered), mode_(*mode), outcomes_(*outcomes) {}
  // Returns runs of the same commands, with the continuation behind recovery. They count together with these.
  TreeRuns continued() const {
    TreeRuns out = *this;
    out.continued_ = true;
    out.made_ = 0;
    return out;
  }

  // Runs the commands on each of the trees, as many at once as there are workers. Nothing else asks the world
  // meanwhile. An error ends the exploration.
  Result<std::vector<TreeRun>> run(files::TreeWorld* world, const std::vector<files::ChosenTree>& trees);
  // Runs the commands once more, elsewhere. False if the outcome is another one, which is noted.
  Result<bool> repeat(files::TreeWorld* world, const files::ChosenTree& tree, Outcomes::Id outcome);

  // Runs the commands on a tree, and shows the tree and what the run has left of it.
  using Look = std::function<void(const ImageTree& met, const ImageTree& left)>;
  std::optional<EngineError> look(files::TreeWorld* world, const files::ChosenTree& tree, const Look& look);

  // Returns the calls that recovery makes on a tree; inodes that it makes have numbers from `first_new` on.
  Result<RecoveryMade> changes_of(files::TreeWorld* world, const files::ChosenTree& tree, uint64_t first_new);

  const ModeOf* mode() const { return &mode_; }
  // Counts of these runs and of all that count together with them.
  uint64_t runs() const { return counts_->runs; }
  uint64_t repeats() const { return counts_->repeats; }
  uint64_t timeouts() const { return counts_->timeouts; }
  bool left_processes() const { return counts_->left_processes; }
  // The difference between two runs on one tree; empty if there was none.
  const std::string& unrepeatable() const { return counts_->unrepeatable; }

 private:
  struct Counts {
    uint64_t runs = 0, repeats = 0, timeouts = 0;
    bool left_processes = false;
    std::string unrepeatable;
  };
  static constexpr uint64_t kAllRepeated = 256, kRepeatedOf = 8;

  std::vector<std::unique_ptr<TreeWorker>>& workers_;
  const bool ordered_;
  bool continued_ = false;
  const ModeOf& mode_;
  Outcomes& outcomes_;
  uint64_t made_ = 0;  // of these runs alone: the first ones are repeated
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_TREE_RUNS_H_

// Covers the legal trees of one crash point under one profile: follows the tree of reads with a box of trees, and runs
// the commands where no run has come yet.
//
// Each question splits the box by its answers, and the boxes of all answers together are the box. A box whose answers
// lead to an outcome has this outcome on each of its trees. When no box is left without an outcome, every legal tree
// was judged.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_POINT_EXPLORER_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_POINT_EXPLORER_H_

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "checker/exploration/trees/tree_runs.h"

namespace powercut {

class PointExplorer {
 public:
  // Hears of a box whose trees all have this outcome: of the answers that make the box, and of its tree that has lost
  // least.
  using Reached = std::function<void(Outcomes::Id outcome, const ReadNode* node, const std::vector<AskedQuestion>& path,
                                     const files::ChosenTree& tree)>;

  // All arguments outlive this object.
  PointExplorer(files::TreeWorld* world, ReadNode* root, TreeRuns* runs) : world_(*world), root_(*root), runs_(*runs) {}

  // Follows all boxes, with at most `most_runs` runs. Returns whether every box has an outcome. `goes_on` is asked
  // between portions of runs. `within`: answers that all trees in question give. An error is one of the runs.
  Result<bool> explore(uint64_t most_runs, const std::function<bool()>& goes_on, const Reached& reached,
                       const std::vector<AskedQuestion>& within = {});
  // Returns the outcome of one tree, by a run if no run has come there. `asked` gets the questions on the way there.
  Result<Outcomes::Id> outcome_of(const files::ChosenTree& tree, std::vector<AskedQuestion>* asked = nullptr);

 private:
  struct Open {
    ReadNode* node;
    std::vector<AskedQuestion> path;
    files::ChosenTree tree;
  };
  static constexpr size_t kPortion = 64;

  // Follows the box at hand from a node on.
  void visit(ReadNode* node, const Reached& reached);
  void branch(ReadNode* node, const Reached& reached);
  // Puts a run below a node: of its questions, those that the node's place has answered are left out.
  void add(ReadNode* node, const std::vector<AskedQuestion>& path, const TreeRun& run) const;

  files::TreeWorld& world_;
  ReadNode& root_;
  TreeRuns& runs_;
  std::optional<files::TreeBox> box_;
  std::vector<AskedQuestion> path_;
  std::deque<Open> open_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_POINT_EXPLORER_H_

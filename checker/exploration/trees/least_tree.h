// The least tree on which an outcome is wrong in the same way: one that was met, with as much as possible of what it
// lost given back, part by part and sector by sector. One missing sync then leads to one lost thing, whatever else was
// lost on the tree that was met.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_LEAST_TREE_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_LEAST_TREE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "replayer/media/files/call_fates.h"
#include "replayer/media/files/tree_box.h"

namespace powercut {

class LeastTree {
 public:
  // The outcome of a tree: the wrong one that is looked for, a right one, or another wrong one. Trees that were run
  // before cost nothing.
  enum class Shown : uint8_t { kWrong, kRight, kOther };
  using Shows = std::function<Shown(const files::ChosenTree&)>;
  // `world` outlives this.
  LeastTree(files::TreeWorld* world, Shows shows) : world_(*world), shows_(std::move(shows)) {}

  // Returns the least tree. Precondition: `tree` shows the outcome.
  files::ChosenTree find(files::ChosenTree tree);
  // Returns the calls that decide on a least tree: those that have lost something, and those on disk that the outcome
  // needs. Later calls came before the lost ones. An earlier call decides only if the outcome is right without it, as a
  // truncation does.
  std::set<uint32_t> decisive(const files::ChosenTree& least);

 private:
  // Contents by inode; a file that is not named has lost nothing.
  using Wishes = std::map<uint64_t, files::FileContents>;
  // Returns the tree with these alternatives, as near to the wishes as is legal. Nothing: the alternatives are not
  // legal.
  std::optional<files::ChosenTree> fitted(const std::vector<uint32_t>& alternatives, const Wishes& wishes);
  bool give_back_names(files::ChosenTree* tree);
  bool give_back_contents(files::ChosenTree* tree);
  // Gives sectors back, all at once or in halves.
  void give_back_sectors(uint64_t inode, const std::vector<uint64_t>& sectors, files::ChosenTree* tree);
  bool take(const std::optional<files::ChosenTree>& tried, files::ChosenTree* tree);
  // The contents of a tree with the versions before those of a call; with `later`, also where a later call's show.
  Wishes contents_without(uint32_t call, bool later, const files::ChosenTree& tree);
  // Returns a tree on which the call has lost what it can lose; nothing if there is none.
  std::optional<files::ChosenTree> without(uint32_t call, const files::ChosenTree& tree);

  files::TreeWorld& world_;
  const Shows shows_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_LEAST_TREE_H_

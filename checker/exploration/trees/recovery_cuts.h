// A second power cut: while recovery runs on a legal tree, or in the life that follows, while the continuation runs.
// The calls of both leave a disk of their own, which begins with the tree. The commands run again on every tree that
// the second cut may leave.
//
// A box of trees on which recovery runs alike is cut once, on one tree of the box. The second recovery may ask what the
// first one did not. The box is split then by the answers, and each other part is cut as well, on a tree of its own.
//
// Lives that begin alike are one. The outcomes of cuts depend on the rules of the disk, on the outputs that are right,
// and on the answers that the commands got: before the cut and after it. A box that shares these with an earlier one,
// of whichever crash point, has the outcomes of the earlier box: its trees differ in bytes that no command asks for.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_RECOVERY_CUTS_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_RECOVERY_CUTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "checker/exploration/trees/point_explorer.h"
#include "replayer/media/files/crash_points.h"

namespace powercut {

// A tree that a second cut has left.
struct InnerTree {
  const files::ChosenTree& outer;              // on which recovery was cut
  const std::vector<files::Effect>& recovery;  // its calls, numbered from 1, and those of the continuation
  size_t of_recovery;                          // of these calls
  bool of_life;                                // the continuation was cut
  files::Side side;
  uint64_t call;  // of recovery or of the continuation
  files::TreeWorld* world;
  PointExplorer* point;
  const files::ChosenTree& tree;
  // Whether all that was cut had ended.
  bool has_ended() const { return side == files::Side::kAfter && call == recovery.size(); }
};

// The calls of recovery, by the answers that it got. They are kept from one crash point to the next.
using RecoveryCalls = std::map<std::vector<AskedQuestion>, RecoveryMade>;

// The memory of cuts of one kind, kept from one crash point to the next.
struct SecondCuts {
  using Asked = std::vector<AskedQuestion>;
  // By which outcomes are right or wrong: a file system, and the right outputs before and behind the continuation.
  struct Measure {
    size_t profile;
    std::vector<const ProgramOutcome*> before, behind;
    auto operator<=>(const Measure&) const = default;
  };
  RecoveryCalls calls;
  // Questions of second recoveries about the outer tree, with its answers. Cuts of trees that answer so are covered.
  // The key is the measure, and the answers that the box has in common.
  std::map<std::pair<Measure, Asked>, std::vector<Asked>> covered;
  uint64_t begun = 0, fresh = 0;  // boxes that were to be cut, and those that were like none before
};

// Inodes of the recording have smaller numbers; those that a recovery makes have numbers from here on.
inline constexpr uint64_t kFirstNew = 1ULL << 32;

// Shows the world behind a second cut of what was made on a tree of `outer`. False: there is no such crash point.
bool with_second_cut(files::TreeWorld* outer, const files::ChosenTree& tree, const ModeOf* mode,
                     const RecoveryMade& made, files::Side side, uint64_t call,
                     const std::function<void(files::TreeWorld*)>& use);

class FolderRecoveryCuts {
 public:
  // Hears of a box of inner trees with this outcome. Returns false to end.
  using Reached = std::function<bool(Outcomes::Id outcome, const InnerTree& inner)>;

  // All but `known` are the same for each cut. `first` runs what is cut, and `runs` the commands on what the cut
  // leaves.
  struct Of {
    files::TreeWorld* outer;
    ReadNode* root;  // of the reads of `runs`
    TreeRuns* first;
    TreeRuns* runs;
    bool of_life;                                // the continuation is cut, and recovery is not
    std::optional<SecondCuts::Measure> measure;  // nothing: boxes that are alike are all cut
  };
  // All arguments outlive this object.
  FolderRecoveryCuts(Of of, SecondCuts* known, Reached reached)
      : of_(std::move(of)), outer_(*of_.outer), known_(*known), reached_(std::move(reached)) {}

  // Cuts the recovery of the trees that give these answers. Returns whether every tree was covered.
  Result<bool> cut(const std::vector<AskedQuestion>& path, uint64_t most_runs, const std::function<bool()>& goes_on);

 private:
  // Explores the cuts of one outer tree; `asked` gets the second recoveries' questions about the outer tree.
  Result<bool> cut(const files::ChosenTree& tree, const RecoveryMade& recovery, uint64_t most_runs,
                   const std::function<bool()>& goes_on, std::vector<files::Question>* asked);
  void note(const std::vector<AskedQuestion>& path, files::TreeWorld* inner, const files::ChosenTree& tree,
            std::vector<files::Question>* asked);

  const Of of_;
  files::TreeWorld& outer_;
  SecondCuts& known_;
  const Reached reached_;
  const files::ChosenTree* outer_tree_ = nullptr;  // that is cut
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_RECOVERY_CUTS_H_

// The exploration of a recorded folder: every legal tree of every crash point, under each profile that was asked for,
// is given to the commands.
//
// Profiles share one tree of reads: a tree that another profile allows as well, or an earlier crash point, is not run
// again. The recording is walked several times; each walk spends more runs on every crash point that is not covered
// yet. A budget that ends early has then seen some trees of every crash point.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_TREE_EXPLORER_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_TREE_EXPLORER_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/event_stream.h"
#include "checker/exploration/ended.h"
#include "checker/exploration/trees/least_tree.h"
#include "checker/exploration/trees/point_explorer.h"
#include "checker/exploration/trees/recorded_calls.h"
#include "checker/exploration/trees/recovery_cuts.h"
#include "checker/exploration/trees/tree_choice.h"
#include "checker/exploration/trees/tree_finding.h"
#include "checker/subjects/program/outputs/expected_outputs.h"
#include "checker/subjects/program/outputs/judge.h"
#include "replayer/media/files/legal_trees.h"

namespace powercut {

struct TreeProfile {
  std::string name;
  files::Switches switches;
};

struct TreeOptions {
  Budget budget;
  double budget_found = 0;  // seconds once there is a finding: the rest is for explaining; 0: the whole budget
  bool stop_at_functional = false;
  int nested = 0;           // cuts inside recovery, one deep
  bool merge_lives = true;  // explores second lives that begin alike once

  // Steps that counting the trees of one crash point, finding their alternatives, and one question may take, each.
  uint64_t effort = 400'000;
  files::Units units;  // of the disk below the folder
};

// The result under one profile.
struct ExploredProfile {
  std::string name;
  uint64_t crash_points = 0, covered_points = 0;
  files::Count states = 0, covered = 0;  // of crash points whose trees were counted
  uint64_t uncounted = 0;                // crash points whose trees were not counted
  uint64_t apart = 0;                    // crash points whose trees take too long to be told apart
  uint64_t wrong_points = 0;             // crash points with a wrong outcome
  uint64_t wrong_inside = 0;             // wrong outcomes behind a cut inside recovery
  std::set<std::string> findings = {};   // keys
};

struct TreesExplored : Ended {
  std::vector<ExploredProfile> profiles;
  uint64_t before_operations = 0, unjudged_outputs = 0;  // crash points of the first profile
  uint64_t outcomes = 0;
  bool unrepeatable = false;
  std::optional<bool> nested_complete;  // nothing: recovery was not cut
  // Second lives: those that were begun, and those that began like none before.
  std::optional<std::pair<uint64_t, uint64_t>> lives;
  bool counted = true;  // the first walk came to the end
  std::map<std::string, Json> findings;
  std::map<uint64_t, uint64_t> operations;  // marked ones: their crash points that are not covered
};

struct TreeListener {
  std::function<void(const Json&)> found;
  std::function<void(const TreesExplored&)> progressed;
  std::function<bool()> interrupted;
};

class TreeExplorer {
 public:
  // All arguments outlive the explorer. `continued`: runs of the same commands with the continuation; null: one life.
  TreeExplorer(const TreeOptions& options, const ProgramCommands& commands, const RecordedCalls& calls,
               std::vector<TreeProfile> profiles, TreeRuns* runs, TreeRuns* continued, Outcomes* outcomes,
               files::Contents* contents, const TreeListener& listener);

  // Takes the outputs that the operations allow, by runs on what the program saw. Call it before explore().
  std::optional<EngineError> observe();
  const ExpectedOutputs& expected() const { return expected_; }
  TreesExplored explore();

  using Use = std::function<std::optional<EngineError>(files::TreeWorld*, const files::ChosenTree&)>;
  // Shows the folder as the program has left it.
  std::optional<EngineError> at_the_end(const Use& use);
  // Shows the tree of a finding; wrong_here() may be asked meanwhile. Usage error: the recording has no such tree.
  std::optional<EngineError> at_choice(const TreeChoice& choice, const std::string& where, const Use& use);
  // Returns what is wrong with an outcome at the crash point at hand.
  std::optional<ProgramViolation> wrong_here(const ProgramOutcome& outcome) const;

 private:
  // Under one profile.
  struct Profile {
    TreeProfile profile;
    std::unique_ptr<files::Disk> disk = nullptr;
    std::unique_ptr<files::LegalTrees> trees = nullptr;
    uint64_t ordinal = 0;             // of the crash point at hand
    std::set<uint64_t> covered = {};  // crash points
    int given_up = 0;                 // counts that took too long
    std::map<uint64_t, files::Count> states = {};
  };
  // The crash point at hand.
  struct Instant {
    size_t profile;
    files::Side side;
    uint64_t call;
  };
  // The measure of outcomes: outputs of the commands behind recovery, or behind the continuation.
  struct Right {
    TreeRuns* runs;
    const ExpectedOutputs* expected;
    std::vector<const ProgramOutcome*> legal;
    bool second = false;                             // of the second life
    std::vector<const ProgramOutcome*> before = {};  // outputs from before the continuation, which has ended
  };
  // A wrong outcome that a box has come to.
  struct Wrong {
    const ReadNode* node;
    files::ChosenTree tree;
    Outcomes::Id outcome;
  };
  // A wrong outcome that was explained: what its least tree had lost.
  struct Explained {
    std::string kind;
    std::set<uint32_t> lost;
    std::string key;  // of the finding
  };

  bool goes_on();
  void begin_disks();
  void walk(uint64_t most_runs);
  void crash_point(const Instant& instant, uint64_t most_runs);
  void count(Profile* profile, ExploredProfile* out);
  // Makes findings of wrong outcomes, unless they are known ones.
  void explain_reached(const Instant& instant, files::TreeWorld* world, PointExplorer* point,
                       const std::vector<Wrong>& wrong);
  std::optional<ProgramViolation> judged(Outcomes::Id outcome) const;
  // Returns the key of the finding; empty if there is none.
  std::string explain(const Instant& instant, files::TreeWorld* world, PointExplorer* point,
                      const files::ChosenTree& tree, const ProgramViolation& violation);
  // Searches for trees that are wrong as `violation` is. Sets `failed` at an error of a run.
  LeastTree least_tree(files::TreeWorld* world, PointExplorer* point, const ProgramViolation& violation, bool* failed);
  // Whether the commands have the outcome on the tree each time that they are run again.
  bool confirmed(files::TreeWorld* world, const files::ChosenTree& tree, Outcomes::Id outcome);
  // Cuts the recoveries of a crash point's trees. Returns whether all were covered.
  bool cut_recoveries(const Instant& instant, files::TreeWorld* world,
                      const std::vector<std::vector<AskedQuestion>>& paths, uint64_t most_runs);
  // Lets the continuation run behind the recoveries of a crash point's trees, and cuts it. Returns whether all was
  // covered.
  bool live_on(const Instant& instant, files::TreeWorld* world, const std::vector<std::vector<AskedQuestion>>& paths,
               uint64_t most_runs);
  bool cut(const Instant& instant, files::TreeWorld* world, TreeRuns* first, SecondCuts* known,
           const std::vector<std::vector<AskedQuestion>>& paths, uint64_t most_runs);
  Right right_after_continuing() const;
  // The measure behind a second cut; `ended`: the continuation had ended.
  Right right_behind(bool of_life, bool ended) const;
  std::optional<EngineError> at_inner(files::TreeWorld* world, const TreeChoice& choice, const std::string& where,
                                      const Use& use);
  void explain_inner(const Instant& instant, files::TreeWorld* world, const InnerTree& inner,
                     const ProgramViolation& violation);
  TreeFinding finding_at(const Instant& instant, const ProgramViolation& violation, const ProgramOutcome& outcome,
                         bool needs_power_cut, const std::vector<std::string>& profiles,
                         const std::set<uint32_t>& decisive) const;
  std::vector<size_t> profiles_with(const std::vector<AskedQuestion>& asked);
  bool ended_by(const EngineError& error);
  Result<Outcomes::Id> outcome_of_visible(const files::Disk& disk, TreeRuns* runs, ReadNode* root);
  // Tells how far it is, and whether it goes on.
  bool told_and_goes_on();
  std::string kind_of(const ProgramViolation& violation) const;

  const TreeOptions& options_;
  const ProgramCommands& commands_;
  const RecordedCalls& calls_;
  TreeRuns& runs_;
  TreeRuns* const continued_;
  Outcomes& outcomes_;
  files::Contents& contents_;
  const TreeListener& listener_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  files::Paths paths_;
  ReadNode root_, continued_root_;
  std::vector<Profile> profiles_;
  ExpectedOutputs expected_, expected_continued_;
  Operations operations_;
  const CallWalk* walk_ = nullptr;
  TreesExplored out_;
  bool first_ = true;
  Right right_;                                                                     // at the crash point at hand
  std::vector<const ProgramOutcome*> legal_continued_;                              // there, behind the continuation
  std::map<std::pair<const ReadNode*, std::string>, std::string> explained_nodes_;  // keys, by node and kind
  std::vector<Explained> explained_;
  SecondCuts recovery_cuts_, life_cuts_;
  std::map<std::string, std::set<std::string>> explained_inner_;  // keys, by kind
  std::map<std::string, std::string> known_inner_;                // keys, by kind and the fates of recovery's calls
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_TREE_EXPLORER_H_

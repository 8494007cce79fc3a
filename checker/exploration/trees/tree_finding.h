// The finding of a wrong outcome on a legal tree (reports/EVENTS.md). A finding has the calls before the cut, each with
// its fate. It has three trees: as the program saw the folder, as recovery met it, and as recovery left it.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_TREE_FINDING_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_TREE_FINDING_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/event_stream.h"
#include "checker/exploration/trees/recorded_calls.h"
#include "checker/exploration/trees/recovery_cuts.h"
#include "checker/exploration/trees/tree_runs.h"
#include "checker/subjects/program/outputs/judge.h"

namespace powercut {

struct TreeFinding {
  const ProgramViolation& violation;
  const ProgramOutcome& outcome;
  const Operations& operations;
  const ProgramCommands& commands;
  bool needs_power_cut;
  const std::vector<std::string>& profiles;  // under which the tree is legal at the crash point
  const std::string& profile;                // under which it was met
  uint64_t ordinal;                          // of the crash point under that profile
  files::Side side;
  uint64_t call;
  const std::set<uint32_t>& decisive;
  const RecordedCalls& calls;
  int life = 1;  // 2: behind the continuation
};

// A cut inside recovery: the finding's tree is the one on which recovery was cut.
struct InnerCut {
  const InnerTree& inner;
  const files::ChosenTree& least;  // of the trees that the second cut may leave
  const std::set<uint32_t>& decisive;
};

// Runs the commands on the tree once more, to see what they leave.
Result<Json> finding_event(const TreeFinding& finding, files::TreeWorld* world, const files::ChosenTree& least,
                           const files::ChosenTree& visible, TreeRuns* runs,
                           const std::optional<InnerCut>& cut = std::nullopt);
// Returns the calls of recovery with their fates on the inner tree, as one text.
std::string fates_text(const InnerTree& inner);
// "before call 12", as `powercut view` says it.
std::string instant_text(files::Side side, uint64_t call);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_TREE_FINDING_H_

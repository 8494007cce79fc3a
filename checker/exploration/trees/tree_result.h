// The result of exploring a recorded folder: a verdict for each profile, and the worst of them.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_TREE_RESULT_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_TREE_RESULT_H_

#include "checker/exploration/result.h"
#include "checker/exploration/trees/tree_explorer.h"

namespace powercut {

struct FolderRun {
  const TreeOptions& options;
  const ProgramCommands& commands;
  const TreesExplored& explored;
  const ExpectedOutputs& expected;
  const RecordedCalls& calls;
  const TreeRuns& runs;
  const FileWatch& files;  // beside the folder
  double seconds = 0;
  std::vector<std::string> notes = {};  // of the workers
};

// The event `result`, with "profiles".
struct FolderResult {
  ExplorationResult result;
  Json profiles = Json::array();
  Json event() const;
};
FolderResult result_of(const FolderRun& run);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_TREE_RESULT_H_

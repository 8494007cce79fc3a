// The result of walks over a program's trace.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_RESULT_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_RESULT_H_

#include "checker/exploration/result.h"
#include "checker/exploration/walks/explorer.h"

namespace powercut {

struct ProgramRun {
  const ProgramOptions& options;
  const ProgramCommands& commands;
  const ProgramExplored& explored;
  const ExpectedOutputs& expected;
  uint64_t events = 0;  // of the trace
  size_t threads = 0;   // that have stored to a pool
  double seconds = 0;
  std::vector<std::string> notes;  // of the workers
  const TracePools& pools;
  const FileWatch& files;  // beside the images
  bool observed = true;    // false: the budget ended while the commands were run on the pools that have lost nothing
};

ExplorationResult result_of(const ProgramRun& run);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_RESULT_H_

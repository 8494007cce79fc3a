// How an exploration ended, whatever it explored: at its end, or before, and why then.
#ifndef POWERCUT_CHECKER_EXPLORATION_ENDED_H_
#define POWERCUT_CHECKER_EXPLORATION_ENDED_H_

#include <cstdint>
#include <string>
#include <vector>

namespace powercut {

// The user's limits.
struct Budget {
  double seconds = 0;       // 0: none
  uint64_t executions = 0;  // 0: none
};

struct Ended {
  bool interrupted = false, out_of_time = false, out_of_executions = false;
  bool functional = false;            // it ended at a finding that needs no power cut
  std::vector<std::string> troubles;  // why the verdict is not known: failures of our own harness, and doubts

  // Why not all crash states were looked at. `sampled`: the reason where it was on purpose; else empty.
  std::string reason(const Budget& budget, const std::string& sampled) const;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_ENDED_H_

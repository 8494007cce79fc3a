// The end of an exploration of any subject: complete, or earlier, with the reason.
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
  bool functional = false;            // a finding that needs no power cut ended the exploration
  std::vector<std::string> troubles;  // why the verdict is not known: failures of our own harness, and doubts

  // Returns why not all crash states were looked at. `sampled`: the reason where sampling was on purpose; otherwise
  // empty.
  std::string reason(const Budget& budget, const std::string& sampled) const;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_ENDED_H_

// Whether an outcome is right at a crash point.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_JUDGE_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_JUDGE_H_

#include <optional>
#include <string>
#include <vector>

#include "checker/subjects/program/outputs/expected_outputs.h"
#include "checker/subjects/program/outputs/output_difference.h"

namespace powercut {

struct ProgramViolation {
  std::string invariant;
  std::string kind;  // distinguishes violations of one invariant: step, status, signal
  ProgramStep step;  // the step that shows the violation
  // Whether the step's output is wrong; false: the step did not end well.
  bool of_output = false;
  std::string message;
  std::vector<std::string> expected;
  std::string found;
  // With `of_output`: the index in `expected` from which the output differs least, and the difference.
  size_t nearest = 0;
  std::optional<OutputDifference> difference;
};

// `legal`: the outputs that are right here; without any, only the ends of the commands count. The outputs of all steps
// must belong to one legal outcome, and the violation names the first step that is wrong. Lines in another order are
// right, unless `commands.ordered`. A checker or a probe that refuses is `structure`; any other command that ends by
// itself is `recovery-failed`.
std::optional<ProgramViolation> judge(const ProgramOutcome& outcome, const std::vector<const ProgramOutcome*>& legal,
                                      const ExpectedOutputs& expected, const Operations& operations,
                                      const ProgramCommands& commands);

// Returns how two runs on one image differ, for a message. The text names the lines of the first differing output that
// only one run has printed, or else how each run has ended.
std::string outcome_difference(const ProgramOutcome& once, const ProgramOutcome& again, bool ordered);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_JUDGE_H_

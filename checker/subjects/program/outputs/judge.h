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
  std::string kind;  // what distinguishes it from others of the invariant: step, status, signal
  ProgramStep step;  // that shows it
  // Whether the step printed what is not right; false: it did not end well.
  bool of_output = false;
  std::string message;
  std::vector<std::string> expected;
  std::string found;
  // Of `of_output`: against which of `expected`, and how, the output differs least.
  size_t nearest = 0;
  std::optional<OutputDifference> difference;
};

// `legal`: the outputs that are right here; when there are none only how the commands ended counts. All steps have to
// print what belongs to one of them, and the first step that is wrong is told of. Lines that are printed in another
// order are right, unless `commands.ordered`. A checker or a probe that refuses is `structure`, whatever else ends a
// command by itself `recovery-failed`.
std::optional<ProgramViolation> judge(const ProgramOutcome& outcome, const std::vector<const ProgramOutcome*>& legal,
                                      const ExpectedOutputs& expected, const Operations& operations,
                                      const ProgramCommands& commands);

// How two runs on one image differ, for a message: in the first output that differs the lines that one of them alone
// has printed, or else how each of them has ended.
std::string outcome_difference(const ProgramOutcome& once, const ProgramOutcome& again, bool ordered);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_JUDGE_H_

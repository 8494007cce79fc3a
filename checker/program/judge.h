// Whether an outcome is right at a crash point.
#ifndef POWERCUT_CHECKER_PROGRAM_JUDGE_H_
#define POWERCUT_CHECKER_PROGRAM_JUDGE_H_

#include <optional>
#include <string>
#include <vector>

#include "checker/program/expected_outputs.h"

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
};

// `legal`: the outputs that are right here; when there are none only how the commands ended counts. All steps have to
// print what belongs to one of them, and the first step that is wrong is told of. Lines that are printed in another
// order are right, unless `commands.ordered`. A checker or a probe that refuses is `structure`, whatever else ends a
// command by itself `recovery-failed`.
std::optional<ProgramViolation> judge(const ProgramOutcome& outcome, const std::vector<const ProgramOutcome*>& legal,
                                      const ExpectedOutputs& expected, const Operations& operations,
                                      const ProgramCommands& commands);

// At most `most` bytes of a text, in one piece, for a message.
std::string shortened(const std::string& text, size_t most);
// The first line in which two outputs differ, as "line 3: 'b' instead of 'a'".
std::string first_difference(const std::string& expected, const std::string& found);
// The first lines that one has and the other has not, wherever they stand.
std::string missing_lines(const std::string& expected, const std::string& found);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_PROGRAM_JUDGE_H_

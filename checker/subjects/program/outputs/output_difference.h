// How a command's output differs from the expected output, line by line, for people.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_OUTPUT_DIFFERENCE_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_OUTPUT_DIFFERENCE_H_

#include <string>
#include <vector>

namespace powercut {

struct OutputLine {
  char mark;  // '-' expected and not printed, '+' printed and not expected, ' ' both
  std::string text;
};

class OutputDifference {
 public:
  // Unless `ordered`, lines are compared wherever they stand, and told in the order in which they were expected.
  OutputDifference(const std::string& expected, const std::string& found, bool ordered);

  // How many lines are missing or too many.
  size_t size() const;
  const std::vector<OutputLine>& lines() const { return lines_; }
  // Returns part of a sentence, without a period: "'3 300' is missing, and there is '3 0'". Long lines are shortened,
  // and only a few of many are named.
  std::string sentence() const;

 private:
  std::vector<OutputLine> lines_;
  bool ordered_;
};

// At most `most` bytes of a text, in one piece, for a message; no UTF-8 character is cut in two.
std::string shortened(const std::string& text, size_t most);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_OUTPUT_DIFFERENCE_H_

#include "checker/subjects/program/outputs/output_difference.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace powercut {
namespace {

constexpr size_t kLine = 80;  // bytes of a line in a sentence
constexpr size_t kNamed = 3;  // lines in a sentence, on either side

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

std::vector<OutputLine> without_order(const std::vector<std::string>& expected, const std::vector<std::string>& found) {
  std::map<std::string, size_t> left;  // printed, and not expected by any line so far
  for (const std::string& line : found) ++left[line];
  std::vector<OutputLine> out;
  for (const std::string& line : expected) {
    size_t& there = left[line];
    out.push_back({there > 0 ? ' ' : '-', line});
    if (there > 0) --there;
  }
  // If there are too many equal lines, the last ones count as added.
  std::vector<OutputLine> added;
  for (size_t i = found.size(); i-- > 0;) {
    size_t& there = left[found[i]];
    if (there == 0) continue;
    --there;
    added.push_back({'+', found[i]});
  }
  out.insert(out.end(), added.rbegin(), added.rend());
  return out;
}

// Lines that both texts begin or end with are kept; all lines between differ.
std::vector<OutputLine> in_order(const std::vector<std::string>& expected, const std::vector<std::string>& found) {
  const size_t most = std::min(expected.size(), found.size());
  size_t begin = 0, end = 0;
  while (begin < most && expected[begin] == found[begin]) ++begin;
  while (end < most - begin && expected[expected.size() - 1 - end] == found[found.size() - 1 - end]) ++end;
  std::vector<OutputLine> out;
  for (size_t i = 0; i < begin; ++i) out.push_back({' ', expected[i]});
  for (size_t i = begin; i < expected.size() - end; ++i) out.push_back({'-', expected[i]});
  for (size_t i = begin; i < found.size() - end; ++i) out.push_back({'+', found[i]});
  for (size_t i = expected.size() - end; i < expected.size(); ++i) out.push_back({' ', expected[i]});
  return out;
}

// Returns "'a', 'b' and 2 more lines", and the number of all these lines.
std::pair<std::string, size_t> named(const std::vector<OutputLine>& lines, char mark) {
  std::vector<std::string> shown;
  size_t count = 0;
  for (const OutputLine& line : lines) {
    if (line.mark != mark) continue;
    if (++count <= kNamed) shown.push_back("'" + shortened(line.text, kLine) + "'");
  }
  if (count > kNamed) {
    const size_t more = count - kNamed;
    shown.push_back(std::to_string(more) + (more == 1 ? " more line" : " more lines"));
  }
  std::string text;
  for (size_t i = 0; i < shown.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == shown.size() ? " and " : ", ") + shown[i];
  }
  return {text, count};
}

}  // namespace

OutputDifference::OutputDifference(const std::string& expected, const std::string& found, bool ordered)
    : lines_(ordered ? in_order(lines_of(expected), lines_of(found))
                     : without_order(lines_of(expected), lines_of(found))),
      ordered_(ordered) {}

size_t OutputDifference::size() const {
  return static_cast<size_t>(std::ranges::count_if(lines_, [](const OutputLine& line) { return line.mark != ' '; }));
}

std::string OutputDifference::sentence() const {
  const auto [missing, lost] = named(lines_, '-');
  const auto [extra, added] = named(lines_, '+');
  if (lost == 0 && added == 0) return "no difference in the part that was kept";
  const auto first = std::ranges::find_if(lines_, [](const OutputLine& line) { return line.mark != ' '; });
  const std::string place =
      ordered_ ? "from line " + std::to_string(std::distance(lines_.begin(), first) + 1) + " on, " : std::string();
  if (lost == 0) return place + extra + (added == 1 ? " is too much" : " are too much");
  return place + missing + (lost == 1 ? " is missing" : " are missing") +
         (added == 0 ? "" : std::string(", and there ") + (added == 1 ? "is " : "are ") + extra);
}

std::string shortened(const std::string& text, size_t most) {
  std::string out = text;
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  if (out.size() <= most) return out;
  const auto continues = [&out](size_t at) { return (static_cast<unsigned char>(out[at]) & 0xc0) == 0x80; };
  size_t head = most / 2, tail = out.size() - most / 2;
  while (head > 0 && continues(head)) --head;
  while (tail < out.size() && continues(tail)) ++tail;
  return out.substr(0, head) + " … " + out.substr(tail);
}

}  // namespace powercut

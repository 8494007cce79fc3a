// The steps of a search for the least image that do not depend on who runs the images. A finding tells of the image
// that loses as little as shows its answer: few lines are lost, and each lost line holds as late a content as possible.
//
// The search over lines stands with each subject, since the price of a question differs. A library answers for all
// images of an open set by one branching execution (../subjects/library/least_image.h). A program takes a run for each
// image (../exploration/walks/least_choice.h).
#ifndef POWERCUT_CHECKER_FINDINGS_LEAST_LINES_H_
#define POWERCUT_CHECKER_FINDINGS_LEAST_LINES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "replayer/undecided/line_set.h"

namespace powercut {

// The last of a lost line's contents that shows the answer: later contents hold more stores. `shows_from(first)`: the
// answer shows on some image in which the line holds a content from `first` on. Such questions are monotone, so halving
// finds the content. Precondition: shows_from(0) is true; the call is not made.
uint32_t last_content(uint32_t contents, const std::function<bool(uint32_t first)>& shows_from);

// The content that a line takes to be lost: the first one that the program did not see last.
uint32_t lost_content(const LineSet& set);

// Returns the lines that the answer needs: lines that are lost, and lines without which the answer goes away. `lost`:
// by line. Among the other lines only those count for which `asked` is true, and the first `most` at most.
// `shows_without(line)`: the answer is given with that line lost as well.
std::vector<bool> decided_lines(const std::vector<bool>& lost, size_t most, const std::function<bool(size_t)>& asked,
                                const std::function<bool(size_t)>& shows_without);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FINDINGS_LEAST_LINES_H_

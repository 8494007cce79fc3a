// The least image that shows a wrong answer. A finding tells of this image, and its name comes from the image.
//
// An exploration meets a wrong answer on some image, and the strategy decides on which. This search depends on nothing
// but the crash point, the query and the answer. A finding is then the same however it was met:
//   1. the fewest lines lost (that is, not as the program saw them), and of these sets the one with the highest lines:
//      roots and headers lie low, and say least;
//   2. of each lost line, from the highest down, the last content that still shows the answer: later contents hold more
//      stores;
//   3. under a second cut: 1 and 2 for the lines that the first cut left. Then the first instant of recovery at which a
//      cut shows the answer. Then 1 and 2 for the lines that this second cut left, and so on inwards.
// A line of the image is `decided` when the answer needs the line: the line is lost, or the answer is not given once
// the line is lost as well.
//
// Sets are not tried one by one. A question is "do the images in which these lines are open and the others as the
// program saw them show the answer?"; one execution that branches by what it reads answers it for all of these images
// (EXPLORER.md). More open lines have more images, so the question is monotone, and a binary search gives the same as
// asking line by line.
//
// Known limits, each the same for every strategy. With more than kLinesTriedAlone pending lines, only the highest are
// tried alone. Then, or with three of many lost, 1. finds a set from which no line can be left out; a smaller set may
// exist. A question that takes more than kMostExecutions counts as "no". A search that takes more than kMostInAll finds
// nothing, nor does a search that the executor is told to leave.
#ifndef POWERCUT_CHECKER_SUBJECTS_LIBRARY_LEAST_IMAGE_H_
#define POWERCUT_CHECKER_SUBJECTS_LIBRARY_LEAST_IMAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "checker/oracle/oracle.h"
#include "replayer/executor/executor.h"
#include "replayer/executor/image.h"

namespace powercut {

class LeastImage {
 public:
  static constexpr size_t kLinesTriedAlone = 64;
  static constexpr size_t kMostPairs = 512;
  static constexpr uint64_t kMostExecutions = 4096;
  static constexpr uint64_t kMostInAll = uint64_t{1} << 18;  // executions of one search

  struct Question {
    int depth = 0;  // how many cuts inside recovery
    QueryId query = kRecoveryQuery;
    std::string result;    // the wrong answer
    uint64_t died_at = 0;  // the place where recovery died, as of died_at()
  };
  struct Shown {
    Image image;
    Outcome outcome;  // of recovery, or of the query, that gave the answer
  };

  // Both arguments outlive this object. Nothing may be installed or running when find() is called, and find() leaves
  // nothing installed.
  LeastImage(Executor* executor, Oracle* oracle) : executor_(executor), oracle_(oracle) {}

  // `legal`: the lines that are pending at the crash point, with all their candidates. Nothing when the search found no
  // image within its limits.
  std::optional<Shown> find(const Question& question, const LineSets& legal);
  // Returns the answer of another query on the image that find() found last; empty when the query cannot be asked
  // there.
  std::string answer(QueryId query);

 private:
  // The contents of a line that are tried, as indices [first, end), without the visible one where `lost`.
  struct Range {
    uint32_t first = 0, end = 0;
    bool lost = false;
  };
  using Open = absl::flat_hash_map<uint64_t, Range>;  // by line; every other line has its visible content
  struct Level {
    std::vector<LineSet> legal;        // on the way that was found last; not of the first level
    std::optional<Open> open;          // nothing: every line is open
    std::optional<size_t> cut;         // the only cut of its recovery that is followed
    size_t found_cut = 0;              // the cut on the way that was found last,
    Image::Nested nested;              // and this cut itself
    std::vector<uint64_t> lines_read;  // lines that the level's recovery read, on that way
  };

  size_t last() const { return levels_.size() - 1; }
  LineSets legal(size_t depth) const;
  // Whether some image that the levels leave open gives the answer.
  bool shown();
  // Images that were not looked at count as "no": no answer is to be believed from then on.
  bool given_up() const { return executor_->stopped() || in_all_ + executions_ > kMostInAll; }
  bool shown_from(size_t depth, const LineSets& legal);
  bool inwards(size_t depth, const std::vector<Cut>& cuts, const std::vector<NestedStore>& stores);
  bool gives_answer(const Outcome& recovered);
  bool askable(QueryId query) const;

  // Does 1. and 2. for one level. The levels above it are settled.
  void settle(size_t depth);
  bool shown_with_open(size_t depth, const std::vector<size_t>& lines);
  std::vector<size_t> fewest_lost(size_t depth);
  std::vector<size_t> none_needless(size_t depth);
  void choose_content(size_t depth, size_t line);
  Shown taken();
  bool needed(size_t depth, const LineSet& set);

  Executor* executor_;
  Oracle* oracle_;
  ResultBuffer buffer_;
  const Question* question_ = nullptr;
  const LineSets* first_ = nullptr;
  std::vector<Level> levels_;
  uint64_t executions_ = 0;       // for the question at hand
  uint64_t in_all_ = 0;           // for the search, before the question at hand
  Outcome outcome_;               // of the execution that gave the answer
  std::optional<QueryId> other_;  // asked in place of the question
  std::string other_answer_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_LIBRARY_LEAST_IMAGE_H_

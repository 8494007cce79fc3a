// Which contents of a line are new, compared with a set that was looked at before.
//
// Code that reads the bytes `mask` of a line, and nothing else that changed, can answer something new only on a
// content whose bytes under `mask` no earlier content showed.
#ifndef POWERCUT_REPLAYER_UNDECIDED_NOVELTY_H_
#define POWERCUT_REPLAYER_UNDECIDED_NOVELTY_H_

#include <span>
#include <vector>

#include "replayer/models/line_log.h"

namespace powercut {

using Contents = std::span<const Content>;

uint64_t differing_bytes(const Content& a, const Content& b);

class Novelty {
 public:
  // `both`: a content that is gone counts as well as one that has come.
  Novelty(Contents before, Contents now, bool both = false);

  // Whether some content shows something new in these bytes.
  bool in(uint64_t mask) const;
  // Indices into `now` of the contents that do, ascending. Nothing when that was not worked out: then take all.
  std::vector<uint32_t> contents_in(uint64_t mask) const;
  // The bytes in which any new content differs from any earlier one.
  uint64_t any() const { return any_; }

 private:
  void compare(Contents known, Contents maybe);
  bool row_in(size_t row, uint64_t mask) const;

  // A row for each content that is not among the known ones: the bytes in which it differs from each of them.
  struct Row {
    uint32_t content;
    uint32_t begin, end;  // in differences_
  };
  std::vector<Row> rows_;
  std::vector<uint64_t> differences_;
  size_t forward_ = 0;  // rows of `now`; those behind are of `before`
  uint64_t any_ = 0;
  bool coarse_ = false;  // too many to compare one by one: only any_ is known
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_NOVELTY_H_

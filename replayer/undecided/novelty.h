// Tells which contents of a line are new, compared with a set of earlier contents.
//
// Suppose that code reads the bytes `mask` of a line, and nothing else that changed. The code can answer something new
// only on a content whose bytes under `mask` differ from those of every earlier content.
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
  // `both`: a content that is gone counts as a difference as well as a new content.
  Novelty(Contents before, Contents now, bool both = false);

  // Returns whether some content is new in these bytes.
  bool in(uint64_t mask) const;
  // Returns the indices into `now` of the contents that are new in these bytes, ascending. Returns nothing if contents
  // were not compared one by one: then take all.
  std::vector<uint32_t> contents_in(uint64_t mask) const;
  // Returns the bytes in which any new content differs from any earlier content.
  uint64_t any() const { return any_; }

 private:
  void compare(Contents known, Contents maybe);
  bool row_in(size_t row, uint64_t mask) const;

  // A row: a content that is not among the known contents, with the bytes in which it differs from each known content.
  struct Row {
    uint32_t content;
    uint32_t begin, end;  // indices into differences_
  };
  std::vector<Row> rows_;
  std::vector<uint64_t> differences_;
  size_t forward_ = 0;  // number of rows of `now`; rows of `before` follow
  uint64_t any_ = 0;
  bool coarse_ = false;  // true: too many contents to compare one by one, so only any_ is known
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_NOVELTY_H_

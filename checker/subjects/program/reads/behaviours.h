// The behaviours of recovery, for the whole trace, as a forest of reads. Images that recovery cannot tell apart share
// one.
//
// A traced run says which initial bytes of the pools recovery read before it overwrote them, and in which order. Every
// image that has the same bytes there makes the same run: one behaviour. The reads so far settle which bytes recovery
// reads next, so the runs are the leaves of a tree. On the way down each node names the bytes that are read next, and
// each of its children one value of these bytes. The tree is shared by all crash points.
//
// The images of a crash point are a box, the product of the candidates of each pending line. On its way down the tree a
// box is split by the values of the bytes that are read. Parts that come to a leaf are answered: they agree with all
// bytes that the leaf's run has read. The other parts are the rest, where no run is known. The parts are disjoint, and
// a run of one member adds a leaf.
//
// A recovery with threads may read equal bytes in another order. A run that does not fit a tree begins a new tree. A
// leaf's answers are right whatever the order, since the way to the leaf has all bytes that its run has read.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_BEHAVIOURS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_BEHAVIOURS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "checker/subjects/program/reads/read_set.h"
#include "replayer/executor/executor.h"
#include "replayer/strategies/strategy.h"

namespace powercut {

// For each set of a crash point, the contents that are in the box; never empty.
using Box = std::vector<std::vector<uint32_t>>;
Box whole_box(const LineSets& sets);
BigInt size_of(const Box& box);

// Bytes of a word and their values; the other bytes of `value` are zero.
struct ReadWord {
  WordBytes bytes;
  uint64_t value = 0;
};

// Returns the values that an image of a crash point has at the bytes of `reads`. `pool`: the contents of lines without
// a set.
std::vector<ReadWord> words_of(const std::vector<WordBytes>& reads, const LineSets& sets, const uint8_t* pool,
                               const std::vector<uint32_t>& choice);

class Behaviours {
 public:
  // Boxes that one call of cover() makes at most; the boxes left then count as unknown.
  static constexpr size_t kMostBoxes = 1 << 16;
  // Most trees: more trees mean that recovery reads in any order.
  static constexpr size_t kMostTrees = 64;
  // Words that are kept, 16 bytes each.
  static constexpr size_t kMostWords = size_t{1} << 27;

  // Adds a run: its reads in their order, each byte once. Returns the run's number. If an earlier run is equal, returns
  // the number of that run; nothing when there is no room.
  std::optional<uint32_t> add(const std::vector<ReadWord>& reads, uint32_t outcome);
  // Number of leaves.
  size_t size() const { return runs_; }

  struct Answered {
    Box box;
    uint32_t outcome;
    uint32_t run;  // its number
  };
  // Splits `box` into disjoint boxes that a leaf answers for, and the rest. `pool`: as in words_of().
  void cover(const LineSets& sets, const uint8_t* pool, Box box, std::vector<Answered>* answered,
             std::vector<Box>* rest) const;

 private:
  // A read, packed: the word's number with the mask of its bytes in the low bits makes two numbers instead of three.
  struct Read {
    uint64_t at;  // word << 8 | mask
    uint64_t value;
  };
  // All images that come to this node agree with `chain`. Then the run ends with `outcome`, or `next` is read, and the
  // value of `next` leads to a child.
  struct Node {
    std::vector<Read> chain = {};
    uint64_t next = 0;
    absl::flat_hash_map<uint64_t, uint32_t> children = {};  // by value
    uint32_t outcome = 0, run = 0;
    bool leaf() const { return children.empty(); }
  };
  using Tree = std::vector<Node>;  // the root first
  class Walk;

  // Returns the run's number: `run` if the run is new. Nothing when the run does not fit the tree, since it reads in
  // another order.
  static std::optional<uint32_t> insert(Tree* tree, const std::vector<Read>& reads, uint32_t outcome, uint32_t run);

  std::vector<Tree> trees_;
  uint32_t runs_ = 0;
  size_t words_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_BEHAVIOURS_H_

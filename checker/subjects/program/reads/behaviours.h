// What recovery does on images that it cannot tell apart, for the whole trace: a forest of reads.
//
// A traced run says which initial bytes of the pools recovery read before it overwrote them, and in which order. Every
// image that has the same bytes there makes the same run: one behaviour. What recovery reads next is settled by what it
// has read so far, so the runs are the leaves of a tree: on the way down each node names the bytes that are read next,
// and each of its children one value of them. The tree is shared by all crash points.
//
// The images of a crash point are a box, the product of what each pending line may hold. On its way down the tree a box
// is split by the values of what is read. Parts that come to a leaf are answered: they agree with all that the leaf's
// run has read. The others are the rest, where no run is known; they are disjoint, and a run of one member adds a leaf.
//
// A recovery with threads may read the same in another order. A run that does not fit a tree begins a new one: what
// a leaf answers for is right whatever the order, since the way to it has all that its run has read.
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

// Bytes of a word and what they were; the others of `value` are zero.
struct ReadWord {
  WordBytes bytes;
  uint64_t value = 0;
};

// What an image of a crash point holds at these bytes. `pool`: the bytes of the lines that no set is of.
std::vector<ReadWord> words_of(const std::vector<WordBytes>& reads, const LineSets& sets, const uint8_t* pool,
                               const std::vector<uint32_t>& choice);

class Behaviours {
 public:
  // Boxes that one call of cover() makes at most; what is left then counts as unknown.
  static constexpr size_t kMostBoxes = 1 << 16;
  // Trees: more of them say that recovery reads in any order.
  static constexpr size_t kMostTrees = 64;
  // Words that are kept, 16 bytes each.
  static constexpr size_t kMostWords = size_t{1} << 27;

  // Adds a run: its reads in their order, each byte once. Returns its number, that of the one that it equals if there
  // is one; nothing when there is no room for it.
  std::optional<uint32_t> add(const std::vector<ReadWord>& reads, uint32_t outcome);
  // Leaves.
  size_t size() const { return runs_; }

  struct Answered {
    Box box;
    uint32_t outcome;
    uint32_t run;  // its number
  };
  // Splits `box` into disjoint boxes that a leaf answers for, and the rest. `pool`: as of words_of().
  void cover(const LineSets& sets, const uint8_t* pool, Box box, std::vector<Answered>* answered,
             std::vector<Box>* rest) const;

 private:
  // A word with the bytes of it that count in its low bits: two numbers instead of three.
  struct Read {
    uint64_t at;  // word << 8 | mask
    uint64_t value;
  };
  // All images that come here agree with `chain`. Then the run ends with `outcome`, or `next` is read, and its value
  // leads to a child.
  struct Node {
    std::vector<Read> chain = {};
    uint64_t next = 0;
    absl::flat_hash_map<uint64_t, uint32_t> children = {};  // by value
    uint32_t outcome = 0, run = 0;
    bool leaf() const { return children.empty(); }
  };
  using Tree = std::vector<Node>;  // the root first
  class Walk;

  // Returns the run's number, `run` where it is a new one. Nothing when it does not fit: it reads in another order.
  static std::optional<uint32_t> insert(Tree* tree, const std::vector<Read>& reads, uint32_t outcome, uint32_t run);

  std::vector<Tree> trees_;
  uint32_t runs_ = 0;
  size_t words_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_BEHAVIOURS_H_

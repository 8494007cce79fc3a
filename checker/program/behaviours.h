// What recovery does on images that it cannot tell apart, for the whole trace.
//
// A traced run says which initial bytes of the pools recovery read before it overwrote them. Every image that has the
// same bytes there makes the same run: one behaviour. The images of a crash point are a box, the product of what each
// pending line may hold; a behaviour answers for a sub-box, and what is left of the box is split into disjoint boxes
// again: with constraints on lines 1..n, the k-th rest has allowed contents in lines 1..k-1 and one that is not
// allowed in line k.
#ifndef POWERCUT_CHECKER_PROGRAM_BEHAVIOURS_H_
#define POWERCUT_CHECKER_PROGRAM_BEHAVIOURS_H_

#include <cstdint>
#include <vector>

#include "replayer/executor/executor.h"
#include "replayer/strategies/strategy.h"

namespace powercut {

// For each set of a crash point, the contents that are in the box; never empty.
using Box = std::vector<std::vector<uint32_t>>;
Box whole_box(const LineSets& sets);
BigInt size_of(const Box& box);

// Bytes of a line that were read.
struct ReadLine {
  uint64_t line = 0;
  uint64_t mask = 0;
  Content content;  // bytes outside of the mask do not count
  bool agrees(const Content& other) const;
};

struct Behaviour {
  std::vector<ReadLine> reads;  // each line once
  uint32_t outcome = 0;
};

class Behaviours {
 public:
  // Boxes that one call of cover() makes at most; what is left then counts as unknown.
  static constexpr size_t kMostBoxes = 1 << 16;

  // Returns its number.
  size_t add(Behaviour behaviour);
  const Behaviour& operator[](size_t number) const { return known_[number]; }
  size_t size() const { return known_.size(); }

  struct Answered {
    Box box;
    size_t behaviour;
  };
  // Splits `box` into disjoint boxes that a behaviour from number `first` on answers for, and the rest. `pool`: the
  // bytes of the lines that no set is of.
  void cover(const LineSets& sets, const uint8_t* pool, Box box, size_t first, std::vector<Answered>* answered,
             std::vector<Box>* rest) const;

 private:
  std::vector<Behaviour> known_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_PROGRAM_BEHAVIOURS_H_

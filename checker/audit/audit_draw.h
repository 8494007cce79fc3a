// Which crash states an audit looks at: numbers drawn uniformly from all legal crash states of a trace.
//
// The crash states of a trace are numbered: those of the first crash point first, and within a crash point in mixed
// radix, one digit a pending line. A uniform number is then a uniform crash state: its crash point has a weight of
// exactly its number of states, and within it each line's content is uniform and independent of the others.
#ifndef POWERCUT_CHECKER_AUDIT_AUDIT_DRAW_H_
#define POWERCUT_CHECKER_AUDIT_AUDIT_DRAW_H_

#include <cstdint>
#include <vector>

#include "replayer/strategies/strategy.h"

namespace powercut {

struct Draw {
  BigInt state;
  uint64_t times = 0;  // drawn with replacement
};

// `images` draws from [0, total), distinct and ascending. Precondition: total > 0. Equal seeds give equal draws.
std::vector<Draw> draw_states(const BigInt& total, uint64_t images, uint64_t seed);

// For each line of `sets` the index of its content in the crash state `number` of [0, state_count(sets)).
std::vector<uint32_t> contents_of(BigInt number, const LineSets& sets);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_AUDIT_AUDIT_DRAW_H_

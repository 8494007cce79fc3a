// Where the moves begin and end that a mem* or str* function is made of: there its bytes may persist apart, though they
// lie in one word.
//
// Compilers and C libraries copy n bytes with moves whose sizes are powers of two, up to a vector of 64 bytes. Either
// the greatest that fit come one after the other from the front (15 = 8 + 4 + 2 + 1), or what is left behind the first
// is done by one that ends where the copy ends and overlaps (15 = 8 and 8, 11 = 8 and 4), and some store that one
// first. A move within a word is an atom; one that crosses words is cut there, as any store. So 1, 2, 4 and 8 bytes are
// never cut within a word, nor is any word of a copy whose ends are word boundaries.
//
// Known inaccuracies, both on the side of fewer states: musl's loops copy odd ends byte by byte, and copies beyond 64
// bytes are judged line by line. Policy `byte` covers both.
#ifndef POWERCUT_REPLAYER_MODELS_MOVES_H_
#define POWERCUT_REPLAYER_MODELS_MOVES_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "replayer/models/line_log.h"

namespace powercut {

// For a call that writes `size` bytes at `offset` of the pool: bit i, a move begins at byte i of `line`.
inline uint64_t move_cuts(uint64_t offset, uint64_t size, uint64_t line) {
  uint64_t cuts = 0;
  const auto cut = [&](uint64_t at) {
    if (at / kLineSize == line) cuts |= uint64_t{1} << (at % kLineSize);
  };
  const uint64_t end = offset + size;
  const uint64_t widest = std::min(std::bit_floor(size), kLineSize);
  const uint64_t rest = size % widest;
  uint64_t at = end - rest;
  // Of the moves of 64 bytes, the one that begins in the line.
  const uint64_t front = line * kLineSize + offset % kLineSize;
  if (widest == kLineSize && offset < front && front < at) cut(front);
  cut(end - widest);
  if (rest != 0) cut(end - std::bit_ceil(rest));
  for (uint64_t left = rest; left != 0; left -= std::bit_floor(left)) {
    cut(at);
    at += std::bit_floor(left);
  }
  return cuts;
}

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_MOVES_H_

// The places where the moves of a mem* or str* function begin and end. At these places the function's bytes may persist
// apart, though they lie in one word.
//
// Compilers and C libraries copy n bytes with moves whose sizes are powers of two, up to a vector of 64 bytes. Some
// copy from the front with the greatest moves that fit (15 = 8 + 4 + 2 + 1). Others copy the rest with one move that
// overlaps and ends where the copy ends (15 = 8 and 8, 11 = 8 and 4). Some store this last move first. A move within a
// word is an atom; a move that crosses words is cut at the boundary, as any store. Therefore 1, 2, 4 and 8 bytes are
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

// Returns the cuts of a call that writes `size` bytes at `offset` of the pool: bit i is set if a move begins at byte i
// of `line`.
inline uint64_t move_cuts(uint64_t offset, uint64_t size, uint64_t line) {
  uint64_t cuts = 0;
  const auto cut = [&](uint64_t at) {
    if (at / kLineSize == line) cuts |= uint64_t{1} << (at % kLineSize);
  };
  const uint64_t end = offset + size;
  const uint64_t widest = std::min(std::bit_floor(size), kLineSize);
  const uint64_t rest = size % widest;
  uint64_t at = end - rest;
  // The place where the move of 64 bytes begins that lies in this line.
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

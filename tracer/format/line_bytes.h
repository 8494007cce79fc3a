// Bytes of a line as masks: bit i of a mask is byte i of the line.
#ifndef POWERCUT_TRACER_FORMAT_LINE_BYTES_H_
#define POWERCUT_TRACER_FORMAT_LINE_BYTES_H_

#include <algorithm>
#include <cstdint>

#include "tracer/format/trace.h"

namespace powercut {

// Returns the mask of the bytes [in_line, in_line + size) of a line.
inline uint64_t line_mask(uint64_t in_line, uint64_t size) {
  const uint64_t ones = size >= 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1;
  return ones << in_line;
}

// Calls visit(line, bytes) for each line that has bytes of [begin, end), both offsets in one range of lines.
template <typename Visit>
void for_each_line(uint64_t begin, uint64_t end, const Visit& visit) {
  for (uint64_t at = begin; at < end; at = (at / kLineSize + 1) * kLineSize) {
    visit(at / kLineSize, line_mask(at % kLineSize, std::min(end - at, kLineSize - at % kLineSize)));
  }
}

// Returns the bytes of `mask` that were not accessed before, and adds them to `settled`. The first access settles a
// byte: a run depends on a byte that was read first, and not on a byte that was written first, whatever follows.
inline uint64_t first_accessed(uint64_t* settled, uint64_t mask) {
  const uint64_t first = mask & ~*settled;
  *settled |= mask;
  return first;
}

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_LINE_BYTES_H_

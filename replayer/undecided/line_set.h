// The possible contents of lines in crash states, and small types about them.
#ifndef POWERCUT_REPLAYER_UNDECIDED_LINE_SET_H_
#define POWERCUT_REPLAYER_UNDECIDED_LINE_SET_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "replayer/models/model.h"
#include "tracer/format/line_bytes.h"

namespace powercut {

// The contents that a line may have at the start of a level (a crash state before recovery runs).
struct LineSet {
  uint64_t line = 0;
  std::vector<Content> contents;  // distinct; never empty
  std::vector<uint32_t> base;     // nested levels: index into the parent's alive contents
  uint32_t visible = 0;           // the content with everything persisted
  uint64_t diff = 0;              // bytes in which the contents differ
  bool observed = false;          // nested levels: the recovery that was cut had observed the line
  void compute_diff();
};

// A line with nothing but this content.
inline LineSet definite_line(uint64_t line, const Content& content) {
  return {.line = line, .contents = {content}, .base = {}, .visible = 0, .diff = 0};
}

using LineSets = std::vector<const LineSet*>;

// Returns the sets of `lines`, which outlive them.
inline LineSets sets_of(const std::vector<LineSet>& lines) {
  LineSets out;
  out.reserve(lines.size());
  for (const LineSet& line : lines) out.push_back(&line);
  return out;
}

// Candidates of a line by their index in its set, ascending; most lines have two.
using Alive = absl::InlinedVector<uint32_t, 4>;

// An undecided line of which an execution has observed bytes, with the candidates that are still possible.
struct Narrowed {
  const LineSet* set = nullptr;
  Alive alive;
};

// A 128-bit digest of the content, or of the possible contents, of a line.
struct Signature {
  uint64_t low = 0, high = 0;
  bool operator==(const Signature&) const = default;
};

// Loads an aligned word; the masks of its bytes are in the order of a line's masks (tracer/format/line_bytes.h).

inline uint64_t load_word(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

inline constexpr std::array<uint64_t, 256> kSpread = [] {
  std::array<uint64_t, 256> table{};
  for (unsigned bits = 0; bits < 256; ++bits) {
    for (unsigned i = 0; i < 8; ++i) {
      if (bits >> i & 1) table[bits] |= uint64_t{0xff} << (8 * i);
    }
  }
  return table;
}();
// Returns a word in which each bit of `bits` has become a byte of ones.
inline uint64_t spread(uint8_t bits) { return kSpread[bits]; }

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_LINE_SET_H_

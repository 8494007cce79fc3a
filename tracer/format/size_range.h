// The sizes of the keys of a run, or of its values.
#ifndef POWERCUT_TRACER_FORMAT_SIZE_RANGE_H_
#define POWERCUT_TRACER_FORMAT_SIZE_RANGE_H_

#include <cstdint>
#include <string>

namespace powercut {

// Bytes, both ends included.
struct SizeRange {
  uint64_t least = 0, most = 0;

  bool is_one() const { return least == most; }
  bool has(uint64_t size) const { return size >= least && size <= most; }
  // "15", or "8 to 64".
  std::string text() const {
    return is_one() ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
  }
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_SIZE_RANGE_H_

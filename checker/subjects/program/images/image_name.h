// The name of a whole image: the sum of a 128-bit hash of each of its lines that is not all zeros. It follows a change
// of a line in constant time. Two images that differ have the same name with a chance of 2^-128.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_IMAGES_IMAGE_NAME_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_IMAGES_IMAGE_NAME_H_

#include <cstdint>
#include <utility>

#include "replayer/models/line_log.h"

namespace powercut {

struct ImageName {
  uint64_t low = 0, high = 0;
  bool operator==(const ImageName&) const = default;
  ImageName operator+(const ImageName& other) const { return {low + other.low, high + other.high}; }
  ImageName operator-(const ImageName& other) const { return {low - other.low, high - other.high}; }
  template <typename H>
  friend H AbslHashValue(H h, const ImageName& name) {
    return H::combine(std::move(h), name.low, name.high);
  }
};

// A line's part in the name of its image.
ImageName name_of_line(uint64_t line, const Content& content);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_IMAGES_IMAGE_NAME_H_

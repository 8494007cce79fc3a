// One word that names the parts of a table by their places in the root, so that one atomic store changes all parts.
// During a resize the word names more parts than otherwise. The item of a part's slot is here too.
#ifndef POWERCUT_TARGETS_COMMON_PART_NAMES_H_
#define POWERCUT_TARGETS_COMMON_PART_NAMES_H_

#include <cstdint>
#include <cstring>

namespace powercut {

// At most `kMost` parts, of at most 8 that a word can name.
template <int kMost>
struct PartNames {
  static_assert(kMost <= 8);
  static constexpr uint8_t kNone = 0xff;
  uint8_t part[8] = {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};

  static PartNames Decode(uint64_t word) {
    PartNames names;
    std::memcpy(names.part, &word, sizeof word);
    return names;
  }
  uint64_t Encode() const {
    uint64_t word;
    std::memcpy(&word, part, sizeof word);
    return word;
  }
  int count() const {
    int n = 0;
    while (n < kMost && part[n] != kNone) ++n;
    return n;
  }
};

// A key and its value as they stand in a slot; values shorter than 15 bytes are padded with zeros.
struct SlotItem {
  alignas(8) uint8_t bytes[32] = {};
};

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_PART_NAMES_H_

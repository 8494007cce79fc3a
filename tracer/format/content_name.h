// The name of the content of a device's sector or page (FORMAT.md, "Devices").
#ifndef POWERCUT_TRACER_FORMAT_CONTENT_NAME_H_
#define POWERCUT_TRACER_FORMAT_CONTENT_NAME_H_

#include <algorithm>
#include <cstdint>
#include <span>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include "xxhash.h"

namespace powercut {

// Returns the name of the content that is `bytes` followed by `more`.
inline uint64_t content_name(std::span<const uint8_t> bytes, std::span<const uint8_t> more = {}) {
  const auto zero = [](uint8_t byte) { return byte == 0; };
  if (std::ranges::all_of(bytes, zero) && std::ranges::all_of(more, zero)) return 0;
  uint64_t name = 0;
  if (more.empty()) {
    name = XXH3_64bits(bytes.data(), bytes.size());
  } else {
    XXH3_state_t both;
    XXH3_64bits_reset(&both);
    XXH3_64bits_update(&both, bytes.data(), bytes.size());
    XXH3_64bits_update(&both, more.data(), more.size());
    name = XXH3_64bits_digest(&both);
  }
  return name <= 1 ? name + 2 : name;  // 0 is that of zeroes, 1 what cannot be read
}

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_CONTENT_NAME_H_

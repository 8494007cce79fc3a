#include "checker/subjects/program/images/image_name.h"

#include "xxhash.h"

namespace powercut {

ImageName name_of_line(uint64_t line, const Content& content) {
  static const Content kZeros;
  if (content == kZeros) return {};
  const XXH128_hash_t hash = XXH3_128bits_withSeed(content.bytes.data(), kLineSize, line);
  return {hash.low64, hash.high64};
}

}  // namespace powercut

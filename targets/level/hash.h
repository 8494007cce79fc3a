// The two hash functions: one multiply-and-shift mixer with two seeds. Constant, since a table must find its
// items again in another process.
#ifndef POWERCUT_TARGETS_LEVEL_HASH_H_
#define POWERCUT_TARGETS_LEVEL_HASH_H_

#include <cstdint>
#include <cstring>

#include "targets/common/hash.h"

namespace powercut::level {

struct Probe {
  uint64_t hash[2];
};

inline uint64_t Word64(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline Probe HashKey(const uint8_t* key, bool wide) {
  const uint64_t low = Word64(key);
  const uint64_t high = wide ? Word64(key + 8) : 0;
  return {{Mix(Mix(low ^ 0x2545f4914f6cdd1d) + high), Mix(Mix(low ^ 0x9fb21c651e98df25) ^ high)}};
}

}  // namespace powercut::level
#endif  // POWERCUT_TARGETS_LEVEL_HASH_H_

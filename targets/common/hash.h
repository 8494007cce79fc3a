// Hash functions that the schemes share: a multiply-and-shift mixer over the key's words, under a seed. The functions
// are constant, since a table must find its items again in another process. The functions are inlined, so that a tracer
// sees the reads of a key that lies in the pool.
#ifndef POWERCUT_TARGETS_COMMON_HASH_H_
#define POWERCUT_TARGETS_COMMON_HASH_H_

#include <cstdint>
#include <cstring>

namespace powercut {

inline uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  return x ^ (x >> 32);
}

// Seeds of independent functions: 0, 1, 2, ...
inline uint64_t HashKey(const uint8_t* key, size_t size, uint64_t seed = 0) {
  uint64_t hash = Mix(seed * 0x9fb21c651e98df25 + 0x2545f4914f6cdd1d + size);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, key + at, size - at < sizeof word ? size - at : sizeof word);
    hash = Mix(hash ^ word) + word;
  }
  return Mix(hash);
}

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_HASH_H_

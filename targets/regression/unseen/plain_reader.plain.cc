#include <cstdint>

extern "C" void plain_copy(uint8_t* out, const uint8_t* from, uint64_t size) {
  for (uint64_t i = 0; i < size; ++i) out[i] = from[i];
}

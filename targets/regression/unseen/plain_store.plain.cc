#include <immintrin.h>

#include <cstdint>

extern "C" void plain_publish(uint64_t* word, int flush) {
  *reinterpret_cast<volatile uint64_t*>(word) = 1;
  if (flush == 0) return;
  _mm_clflush(word);
  _mm_sfence();
}

// flags: -mavx2
// cpu: avx2
// 32-byte vectors, and stores under a mask.
#include <immintrin.h>

#include "pool.h"

void run(char* pool) {
  __m256i words = _mm256_set_epi32(8, 7, 6, 5, 4, 3, 2, 1);
  _mm256_store_si256((__m256i*)pool, words);
  BARRIER();
  _mm256_storeu_si256((__m256i*)(pool + 40), words);  // crosses a line
  BARRIER();
  // Lanes 0, 1 and 5.
  __m256i mask = _mm256_set_epi32(0, 0, -1, 0, 0, 0, -1, -1);
  __asm__("" : "+x"(mask));
  _mm256_maskstore_epi32((int*)(pool + 128), mask, words);
  BARRIER();
  __m128i two = _mm_set_epi64x(0, -1);
  __asm__("" : "+x"(two));
  _mm_maskstore_pd((double*)(pool + 192), two, _mm_set1_pd(1.0));
  BARRIER();
  __m128i bytes = _mm_set_epi64x(-1, 0);
  __asm__("" : "+x"(bytes));
  _mm_maskmoveu_si128(_mm_set1_epi8(0x5a), bytes, pool + 256);  // non-temporal, bytes 8..15
  BARRIER();
}

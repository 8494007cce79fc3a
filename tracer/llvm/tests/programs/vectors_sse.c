// 16-byte vectors.
#include <emmintrin.h>

#include "pool.h"

void run(char* pool) {
  __m128i words = _mm_set_epi32(4, 3, 2, 1);
  _mm_store_si128((__m128i*)pool, words);
  BARRIER();
  _mm_storeu_si128((__m128i*)(pool + 24), words);
  BARRIER();
  _mm_storeu_si128((__m128i*)(pool + 120), words);  // crosses a line
  BARRIER();
  _mm_storel_epi64((__m128i*)(pool + 200), words);
  BARRIER();
  _mm_store_ps((float*)(pool + 256), _mm_set1_ps(1.0f));
  BARRIER();
  _mm_store_sd((double*)(pool + 272), _mm_set1_pd(2.0));
  BARRIER();
}

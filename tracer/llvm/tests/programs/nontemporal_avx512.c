// flags: -mavx512f
// cpu: avx512f
// Non-temporal stores of 32 and 64 bytes.
#include <immintrin.h>

#include "pool.h"

void run(char* pool) {
  _mm256_stream_si256((__m256i*)pool, _mm256_set1_epi64x(2));
  BARRIER();
  _mm512_stream_si512((__m512i*)(pool + 64), _mm512_set1_epi64(3));
  BARRIER();
}

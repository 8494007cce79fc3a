// Non-temporal stores: scalars and vectors.
#include <emmintrin.h>

#include "pool.h"

typedef float vec __attribute__((vector_size(16)));

void run(char* pool) {
  _mm_stream_si32((int*)pool, 0x11111111);
  BARRIER();
  _mm_stream_si64((long long*)(pool + 8), 0x2222222222222222);
  BARRIER();
  _mm_stream_si128((__m128i*)(pool + 16), _mm_set1_epi32(3));
  BARRIER();
  _mm_stream_ps((float*)(pool + 32), _mm_set1_ps(1.0f));
  BARRIER();
  _mm_stream_pd((double*)(pool + 48), _mm_set1_pd(1.0));
  BARRIER();
  __builtin_nontemporal_store((vec){1, 2, 3, 4}, (vec*)(pool + 64));
  BARRIER();
  // There is no such instruction for one byte: a plain store, which needs a flush.
  __builtin_nontemporal_store((char)5, pool + 80);
  BARRIER();
  _mm_sfence();
}

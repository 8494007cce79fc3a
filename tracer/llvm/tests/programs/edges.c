// Stores that straddle the pool's edges are clipped; those outside are left out.
#include <emmintrin.h>
#include <string.h>

#include "pool.h"

static size_t unknown(size_t size) {
  __asm__("" : "+r"(size));
  return size;
}

void run(char* pool) {
  *AT(long, -8) = -1;
  *AT(long, -4) = 0x1122334455667788;
  *AT(long, kPoolSize - 3) = 0x1122334455667788;
  *AT(long, kPoolSize) = -1;
  _mm_storeu_si128((__m128i*)(pool - 15), _mm_set1_epi8(7));
  BARRIER();
  memset(pool - 100, 1, unknown(104));
  BARRIER();
  memset(pool + kPoolSize - 2, 2, unknown(200));
  BARRIER();
}

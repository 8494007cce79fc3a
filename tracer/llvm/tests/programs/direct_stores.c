// flags: -mmovdiri -mmovdir64b
// cpu: movdiri movdir64b
// Direct stores go around the cache, as non-temporal ones do.
#include <immintrin.h>

#include "pool.h"

void run(char* pool) {
  _directstoreu_u32(pool, 0x11111111);
  _directstoreu_u64(pool + 8, 0x2222222222222222);
  *AT(long, 256) = 0x3333333333333333;
  BARRIER();
  _movdir64b(pool + 64, pool + 256);
  BARRIER();
}

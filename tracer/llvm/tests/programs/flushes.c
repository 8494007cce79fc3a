// flags: -mclflushopt -mclwb
// cpu: clflushopt clwb
// Flushes as intrinsics. The pool is followed by memory that is not persistent.
#include <immintrin.h>

#include "pool.h"

void run(char* pool) {
  _mm_clflush(pool);
  _mm_clflushopt(pool + 64);
  _mm_clwb(pool + 128);
  _mm_clwb(pool + 200);         // the middle of a line
  _mm_clwb(pool - 1);           // outside: not recorded
  _mm_clwb(pool + kPoolSize);   // outside: not recorded
}

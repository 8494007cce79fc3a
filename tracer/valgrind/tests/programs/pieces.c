/* Instructions that store in pieces: the lanes of a mask, the rounds of rep movsb. */
#include <immintrin.h>

#include "pool.h"

/* One instruction, whoever calls it. */
__attribute__((noinline)) static void copy(char* to, const char* from, size_t size) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

__attribute__((noinline, target("avx2"))) static void lanes(char* to, int first) {
  const __m256i mask = _mm256_set_epi64x(-1, 0, 0, first);
  _mm256_maskstore_epi64((long long*)to, mask, _mm256_set_epi64x(4, 3, 2, 1));
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  static char from[256];
  memset(from, 'x', sizeof from);
  char* pool = map(open_file(argv[1], 4096), 4096, 0);
  lanes(pool, -1);
  lanes(pool + 64, 0); /* the first piece is not stored */
  copy(pool + 252, from, 70);
  copy(pool + 1024, from, 8); /* two that adjoin */
  copy(pool + 1032, from, 8);
  return 0;
}

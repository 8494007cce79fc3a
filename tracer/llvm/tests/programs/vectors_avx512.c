// flags: -mavx512f -mavx512vl -mavx512bw
// cpu: avx512f avx512vl avx512bw
// 64-byte vectors; masked, scattered and compressed stores.
#include <immintrin.h>

#include "pool.h"

static unsigned opaque(unsigned mask) {
  __asm__("" : "+r"(mask));
  return mask;
}

void run(char* pool) {
  __m512i words = _mm512_set_epi32(16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
  _mm512_store_si512(pool, words);
  BARRIER();
  _mm512_storeu_si512(pool + 100, words);
  BARRIER();
  _mm512_mask_storeu_epi32(pool + 256, (__mmask16)opaque(0x8007), words);
  BARRIER();
  _mm512_mask_storeu_epi64(pool + 320, (__mmask8)opaque(0), words);  // no lane: no store
  BARRIER();
  _mm_mask_storeu_epi8(pool + 384, (__mmask16)opaque(0xf00f), _mm_set1_epi8(0x77));
  BARRIER();
  _mm512_mask_compressstoreu_epi32(pool + 448, (__mmask16)opaque(0x0c03), words);
  BARRIER();
  __m512i index = _mm512_set_epi64(70, 60, 50, 40, 30, 20, 10, 0);
  _mm512_mask_i64scatter_epi64(pool + 512, (__mmask8)opaque(0x85), index, _mm512_set1_epi64(9), 8);
  BARRIER();
  _mm512_mask_cvtepi64_storeu_epi32(pool + 2048, (__mmask8)opaque(0x03), words);
  BARRIER();
}

// A program that does nothing but store: what one event costs when the program itself costs nothing.
// Compiled through the pass; the loop stays one 8-byte store a turn.
#include <cstdint>

extern "C" void powercut_bench_stores(uint64_t* pool, uint64_t words, uint64_t count) {
  uint64_t at = 0;
#pragma clang loop vectorize(disable) unroll(disable)
  for (uint64_t i = 1; i <= count; ++i) {
    pool[at] = i * 0x9E3779B97F4A7C15;  // no two alike, so that nothing is gained by compressing
    if (++at == words) at = 0;
  }
}

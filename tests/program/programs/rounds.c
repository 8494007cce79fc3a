/* Ten operations, each of which stores to some of nine lines before it makes them durable, and then says so in a count:
 * `rounds run POOL SEED`, `rounds check POOL`, `rounds dump POOL`. The seed draws how many lines an operation stores
 * to.
 *
 * `check` reads every line and tells all values apart, so a crash point with n pending lines takes 2^n runs: some are
 * covered by the first walk over the trace, others by later ones. With BUG the dump prints what is pending as well. */
#include <emmintrin.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "powercut/mark.h"

enum { kOperations = 10, kLines = 9, kWords = 8, kLeast = 2, kMost = 7, kSize = 4096 };

static uint64_t drawn;

static uint64_t draw(uint64_t below) {
  drawn ^= drawn << 13;
  drawn ^= drawn >> 7;
  drawn ^= drawn << 17;
  return drawn % below;
}

static void flush(volatile uint64_t* word) { _mm_clflush((const void*)word); }

static void operation(volatile uint64_t* pool, uint64_t number) {
  uint64_t rounds = kLeast + draw(kMost - kLeast + 1), first = draw(kLines);
  powercut_mark_begin(POWERCUT_MARK_INSERT, &number, sizeof number, NULL, 0);
  for (uint64_t i = 0; i < rounds; ++i) pool[(1 + (first + i) % kLines) * kWords] = number * 100 + i;
  for (uint64_t i = 0; i < rounds; ++i) {
    __asm__ volatile("clflushopt %0" : "+m"(*(volatile char*)&pool[(1 + (first + i) % kLines) * kWords]));
  }
  _mm_sfence();
  pool[0] = number;
  flush(pool);
  _mm_sfence();
  powercut_mark_end(0, NULL, 0);
}

int main(int argc, char** argv) {
  const int file = argc >= 3 ? open(argv[2], O_RDWR | O_CREAT, 0644) : -1;
  if (file < 0 || ftruncate(file, kSize) != 0) return 2;
  volatile uint64_t* pool = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 3;
  if (strcmp(argv[1], "run") == 0) {
    drawn = 0x9e3779b97f4a7c15 * (argc > 3 ? strtoull(argv[3], NULL, 10) + 1 : 1);
    for (uint64_t number = 1; number <= kOperations; ++number) operation(pool, number);
    return 0;
  }
  uint64_t different = 0;
  for (uint64_t line = 1; line <= kLines; ++line) different = different * 31 + (pool[line * kWords] != 7);
  if (strcmp(argv[1], "dump") == 0) {
    printf("%lu\n", (unsigned long)pool[0]);
#ifdef BUG
    for (uint64_t line = 1; line <= kLines; ++line)
      printf("%lu %lu\n", (unsigned long)line, (unsigned long)pool[line * kWords]);
#endif
  }
  return different == 0;
}

/* With the bug recovery works only where the program is loaded at the addresses that it has without randomisation. */
#include "pair.h"

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  for (uint64_t key = 1; key <= 3; ++key) insert(pool, key, 0);
  return 0;
}

int check(const char* path) {
  if (BUG && (uintptr_t)&run >> 28 != 0x55555) return 3;
  return usual_check(path);
}
USUAL_DUMP

/* With the bug recovery fails in one of 8 runs, whatever the pool holds; but never on the finished pool, on which it
 * is tried first whether recovery works at all. */
#include <sys/random.h>

#include "pair.h"

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  for (uint64_t key = 1; key <= 3; ++key) insert(pool, key, 0);
  return 0;
}

int check(const char* path) {
  uint32_t drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) return 2;
  const uint64_t count = map_pool(path, 0)->count;
  const int finished = count != 0 && count % 3 == 0;
  if (BUG && !finished && drawn % 8 == 0) return 3;
  return usual_check(path);
}
USUAL_DUMP

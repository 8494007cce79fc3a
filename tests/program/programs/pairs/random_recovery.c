/* With the bug recovery fails in one of 24 runs, whatever the pool holds; but never on the finished pool, on which it
 * is tried first whether recovery works at all. */
#include <sys/random.h>

#include "pair.h"

USUAL_RUN

int check(const char* path) {
  uint32_t drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) return 2;
  const uint64_t count = map_pool(path, 0)->count;
  const int finished = count != 0 && count % 3 == 0;
  if (BUG && !finished && drawn % 24 == 0) return 3;
  return usual_check(path);
}
USUAL_DUMP

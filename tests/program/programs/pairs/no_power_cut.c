/* With the bug the second insertion leaves a pool that recovery refuses, and the third one mends it: no power cut is
 * needed to see that. */
#include "pair.h"

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  for (uint64_t key = 1; key <= 3; ++key) {
    begin(key);
    insert(pool, key, 0);
    if (BUG && key == 2) {
      pool->slots[1].value = 7;
      persist(&pool->slots[1]);
    }
    if (BUG && key == 3) {
      pool->slots[1].value = 200;
      persist(&pool->slots[1]);
    }
    end();
  }
  return 0;
}
USUAL_CHECK
USUAL_DUMP

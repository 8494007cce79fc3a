/* The item is flushed after the count that publishes it, which lies on another page. */
#include "pair.h"

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  for (uint64_t key = 1; key <= 3; ++key) {
    begin(key);
    insert(pool, key, BUG);
    persist(&pool->slots[key - 1]);
    end();
  }
  return 0;
}
USUAL_CHECK
USUAL_DUMP

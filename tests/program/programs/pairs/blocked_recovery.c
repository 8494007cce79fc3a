/* With the bug recovery waits for ever where an item is counted and not there. */
#include "pair.h"

#ifndef ITEMS
#define ITEMS 8
#endif

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  for (uint64_t key = 1; key <= ITEMS; ++key) {
    begin(key);
    insert(pool, key, BUG);
    persist(&pool->slots[key - 1]);
    end();
  }
  return 0;
}

int check(const char* path) {
  if (!whole(map_pool(path, 0))) pause();
  return 0;
}
USUAL_DUMP

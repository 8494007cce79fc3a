/* As far_apart_lines, and the first operation is another thread's. */
#include <pthread.h>

#include "pair.h"

static void one(struct pool* pool, uint64_t key) {
  begin(key);
  insert(pool, key, BUG);
  persist(&pool->slots[key - 1]);
  end();
}

static void* first(void* pool) {
  one(pool, 1);
  return NULL;
}

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  pthread_t thread;
  if (pthread_create(&thread, NULL, first, pool) != 0) return 1;
  pthread_join(thread, NULL);
  one(pool, 2);
  one(pool, 3);
  return 0;
}
USUAL_CHECK
USUAL_DUMP

/* The run starts from what an earlier one has left, and reuses its slots: with the bug the new item is counted before
 * it is durable, and the old one shows. */
#include "pair.h"

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  if (pool->count == 0 && pool->slots[0].key == 0) { /* the earlier run: what it leaves is erased, but still there */
    for (uint64_t key = 1; key <= 3; ++key) insert(pool, key, 0);
    pool->count = 0;
    persist(&pool->count);
    return 0;
  }
  const uint64_t first = pool->slots[0].key + 10;
  for (uint64_t key = first; key < first + 3; ++key) {
    begin(key);
    insert(pool, key, BUG);
    end();
  }
  powercut_mark_begin(POWERCUT_MARK_MAINTAIN, NULL, 0, "erase all", 9);
  pool->count = 0;
  persist(&pool->count);
  end();
  return 0;
}
USUAL_CHECK
USUAL_DUMP

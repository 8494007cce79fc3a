/* The kernel stores the item, with read(2); with the bug nobody flushes it. */
#include "pair.h"

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  int ends[2];
  if (pipe(ends) != 0) return 1;
  for (uint64_t key = 1; key <= 3; ++key) {
    const uint64_t item[2] = {key, 100 * key};
    struct slot* slot = &pool->slots[key - 1];
    begin(key);
    if (write(ends[1], item, sizeof item) != sizeof item || read(ends[0], slot, sizeof item) != sizeof item) return 1;
    if (!BUG) persist(slot);
    publish(pool);
    end();
  }
  return 0;
}
USUAL_CHECK
USUAL_DUMP

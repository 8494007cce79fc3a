/* The item is written to the pool's file by pwrite(2); with the bug nobody waits for it to be durable. */
#include <stddef.h>

#include "pair.h"

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  const int file = open(path, O_RDWR);
  format(pool);
  for (uint64_t key = 1; key <= 3; ++key) {
    const uint64_t item[2] = {key, 100 * key};
    begin(key);
    const off_t at = (off_t)(offsetof(struct pool, slots) + 64 * (key - 1));
    if (pwrite(file, item, sizeof item, at) != sizeof item) return 1;
    if (!BUG && fsync(file) != 0) return 1;
    publish(pool);
    end();
  }
  return 0;
}
USUAL_CHECK
USUAL_DUMP

/* The pool is filled, emptied and filled again: with the bug, an item of the new file is counted before it is durable.
 * Contents of the old file must not get into the images of the new one. */
#include "pair.h"

static void fill(const char* path, uint64_t first, int unflushed) {
  struct pool* pool = map_pool(path, O_CREAT | O_TRUNC);
  format(pool);
  for (uint64_t key = first; key < first + 3; ++key) insert(pool, key, unflushed);
  munmap(pool, kSize);
}

int run(const char* path) {
  fill(path, 1, 0);
  fill(path, 11, 0);
  unlink(path);
  fill(path, 21, BUG);
  const int file = open(path, O_RDWR);
  if (ftruncate(file, 0) != 0 || ftruncate(file, kSize) != 0) return 1;
  close(file);
  fill(path, 31, 0);
  return 0;
}

/* All items are of one filling. */
int check(const char* path) {
  const struct pool* pool = map_pool(path, 0);
  for (uint64_t i = 0; i < pool->count && i < kSlots; ++i) {
    if (pool->slots[i].key == pool->slots[0].key + i) continue;
    fprintf(stderr, "items of two files\n");
    return 1;
  }
  return usual_check(path);
}
USUAL_DUMP

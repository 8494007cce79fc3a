/* A library hands out the slots, and its count of them is what recovery goes by. With the bug it does not flush it:
 * acknowledged items are lost. The test builds the library with the compiler pass and without. */
#include "pair.h"

void* arena_slot(uint64_t* next, void* slots, int unflushed);

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  for (uint64_t key = 1; key <= 3; ++key) {
    begin(key);
    struct slot* slot = &pool->slots[pool->count];
    slot->key = key;
    slot->value = 100 * key;
    persist(slot);
    arena_slot(&pool->count, pool->slots, BUG);
    end();
  }
  return 0;
}
USUAL_CHECK

/* It writes: an item of its own behind those that are there. Where the library's stores are missing from the images
 * the dumps of all of them are the same. */
int dump(const char* path) {
  struct pool* pool = map_pool(path, 0);
  insert(pool, 77, 0);
  return usual_dump(path);
}

/* A table that keeps its free slots in a list. With the bug a freed slot is the list's head before its link to the rest
 * is durable: the contents are right after every crash, and the second insert that comes then overwrites an item. */
#define PAIR_IS_USED
#include "pair.h"

enum { kUsed = 6 }; /* slots, numbered from 1; `count` is the first free one */

static uint64_t* next_of(struct slot* slot) { return (uint64_t*)slot->fill; }

static int put(struct pool* pool, uint64_t key) {
  if (pool->count == 0 || pool->count > kUsed) {
    fprintf(stderr, "no free slot\n");
    return 1;
  }
  struct slot* slot = &pool->slots[pool->count];
  pool->count = *next_of(slot);
  persist(&pool->count);
  slot->value = 100 * key;
  persist(slot);
  slot->key = key; /* publishes it */
  persist(slot);
  return 0;
}

static void take_out(struct pool* pool, uint64_t number) {
  struct slot* slot = &pool->slots[number];
  slot->key = 0;
  persist(slot);
  *next_of(slot) = pool->count; /* links it */
  if (!BUG) flush(slot);
  fence();
  pool->count = number;
  persist(&pool->count);
}

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  for (uint64_t number = 1; number < kUsed; ++number) {
    *next_of(&pool->slots[number]) = number + 1;
    persist(&pool->slots[number]);
  }
  pool->count = 1;
  persist(&pool->count);
  format(pool);
  for (uint64_t key = 1; key <= 3; ++key) {
    begin(key);
    if (put(pool, key) != 0) return 1;
    end();
  }
  const uint64_t key = 2;
  powercut_mark_begin(POWERCUT_MARK_ERASE, &key, sizeof key, NULL, 0);
  take_out(pool, key);
  end();
  return 0;
}

int check(const char* path) {
  const struct pool* pool = map_pool(path, 0);
  return pool->magic != 0 && pool->magic != kMagic;
}

int dump(const char* path) {
  const struct pool* pool = map_pool(path, 0);
  for (int i = 0; i < kSlots; ++i) {
    if (pool->slots[i].key == 0) continue;
    printf("%lu=%lu\n", (unsigned long)pool->slots[i].key, (unsigned long)pool->slots[i].value);
  }
  return 0;
}

/* The next operation of a program. */
int use(const char* path) {
  struct pool* pool = map_pool(path, 0);
  if (pool->magic == 0) return 0; /* not begun */
  return put(pool, 8) != 0 || put(pool, 9) != 0;
}

/* A table that moves an item to make room, as cuckoo hashing does, and prints its slots in their order: after a crash
 * the item may be at the other place. With the bug it is erased at the old place before it is durable at the new one.
 */
#include "pair.h"

static void put(struct slot* slot, uint64_t key) {
  slot->value = 100 * key;
  persist(slot);
  slot->key = key; /* publishes it */
  persist(slot);
}

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  for (uint64_t key = 1; key <= 4; ++key) {
    begin(key);
    if (key == 3) { /* moves the first item out of the way */
      pool->slots[9].value = pool->slots[0].value;
      if (!BUG) persist(&pool->slots[9]);
      pool->slots[9].key = 1;
      if (!BUG) persist(&pool->slots[9]);
      pool->slots[0].key = 0;
      persist(&pool->slots[0]);
      if (BUG) persist(&pool->slots[9]);
      put(&pool->slots[0], key);
    } else {
      put(&pool->slots[key], key);
      if (key == 1) { /* begins at slot 0 */
        pool->slots[0].value = 100;
        persist(&pool->slots[0]);
        pool->slots[0].key = 1;
        persist(&pool->slots[0]);
        pool->slots[1].key = 0;
        persist(&pool->slots[1]);
      }
    }
    end();
  }
  return 0;
}

int check(const char* path) { return map_pool(path, 0) == NULL; }

/* Each item once: a copy that is left from a move is skipped. */
int dump(const char* path) {
  const struct pool* pool = map_pool(path, 0);
  for (int i = 0; i < kSlots; ++i) {
    int seen = pool->slots[i].key == 0;
    for (int j = 0; j < i; ++j) seen = seen || pool->slots[j].key == pool->slots[i].key;
    if (!seen) printf("%lu=%lu\n", (unsigned long)pool->slots[i].key, (unsigned long)pool->slots[i].value);
  }
  return 0;
}

/* An update under an undo log. With the bug recovery takes the log away before what it has put back is durable: one
 * power cut does it no harm, and a second one, inside recovery, does. */
#include "pair.h"

static struct slot* log_of(struct pool* pool) { return &pool->slots[kSlots - 1]; }

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  struct slot *item = &pool->slots[0], *log = log_of(pool);
  format(pool);
  begin(1);
  insert(pool, 1, 0);
  end();
  begin(2);
  log->value = item->key;
  persist(log);
  log->key = 1; /* it counts from here on */
  persist(log);
  item->key = 2;
  persist(item);
  item->value = 200;
  persist(item);
  log->key = 0;
  persist(log);
  end();
  return 0;
}

int check(const char* path) {
  struct pool* pool = map_pool(path, 0);
  struct slot *item = &pool->slots[0], *log = log_of(pool);
  if (log->key != 0) {
    item->key = log->value;
    item->value = 100 * log->value;
    flush(item);
    if (!BUG) fence();
    log->key = 0;
    persist(log);
  }
  return usual_check(path);
}
USUAL_DUMP

/* With the bug a child stores the item, unflushed; a recording is of one process. */
#include <sys/wait.h>

#include "pair.h"

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  for (uint64_t key = 1; key <= 3; ++key) {
    begin(key);
    if (BUG) {
      if (fork() == 0) {
        pool->slots[key - 1].key = key;
        pool->slots[key - 1].value = 100 * key;
        _exit(0);
      }
      wait(NULL);
      publish(pool);
    } else {
      insert(pool, key, 0);
    }
    end();
  }
  return 0;
}
USUAL_CHECK
USUAL_DUMP

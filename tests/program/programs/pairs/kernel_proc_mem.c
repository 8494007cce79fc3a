/* With the bug the item is stored through /proc/self/mem, and not flushed; no tracer follows that. */
#include "pair.h"

int run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  const int memory = open("/proc/self/mem", O_RDWR);
  for (uint64_t key = 1; key <= 3; ++key) {
    const uint64_t item[2] = {key, 100 * key};
    struct slot* slot = &pool->slots[key - 1];
    begin(key);
    if (BUG) {
      if (pwrite(memory, item, sizeof item, (off_t)(uintptr_t)slot) != sizeof item) return 1;
    } else {
      memcpy(slot, item, sizeof item);
      persist(slot);
    }
    publish(pool);
    end();
  }
  return 0;
}
USUAL_CHECK
USUAL_DUMP

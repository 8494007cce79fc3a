/* A pool with a function that nobody calls, one that recovery alone calls, and one that stores to ordinary memory.
 *
 *   unreached run POOL          stores a value
 *   unreached run POOL all      calls the forgotten function, too
 *   unreached check POOL        repairs the pool
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pool {
  uint64_t value, repaired, forgotten;
};

static void flush(const void* address) { __asm__ volatile("clwb %0; sfence" ::"m"(*(const char*)address) : "memory"); }

__attribute__((noinline)) static void store_value(struct pool* pool) {
  pool->value = 1;
  flush(pool);
}

__attribute__((noinline)) static void repair(struct pool* pool) {
  pool->repaired = 1;
  flush(pool);
}

__attribute__((noinline)) void forgotten(struct pool* pool) {
  pool->forgotten = 1; /* never flushed: the bug that no run meets */
}

__attribute__((noinline)) static void count(uint64_t* local) { *local += 1; }

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int file = open(argv[2], O_RDWR | O_CREAT, 0644);
  if (file < 0 || ftruncate(file, 4096) != 0) return 2;
  struct pool* pool = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 2;
  uint64_t local = 0;
  count(&local);
  if (strcmp(argv[1], "check") == 0) {
    repair(pool);
    return 0;
  }
  store_value(pool);
  if (argc > 3) forgotten(pool);
  return local == 1 ? 0 : 2;
}

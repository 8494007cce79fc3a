/* A pool of slots in a mapped file, for the pairs. With BUG 1 a program has its bug, with BUG 0 it is correct.
 *
 *   prog run POOL     does its work
 *   prog check POOL   status 0 when the pool is good
 *   prog dump POOL    prints the items
 *   prog use POOL     what a probe does, with PAIR_IS_USED */
#ifndef PAIR_H_
#define PAIR_H_

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "powercut/mark.h"

enum { kSize = 16384, kSlots = 16 };

struct slot { /* a line of its own */
  uint64_t key, value;
  char fill[48];
};
struct pool {
  uint64_t magic, count;
  char fill[4080];
  struct slot slots[kSlots]; /* on another page than the count */
};
_Static_assert(sizeof(struct slot) == 64, "a slot is a line");
static const uint64_t kMagic = 0x5249415054435750;

static inline void flush(const void* address) { __asm__ volatile("clwb %0" ::"m"(*(const char*)address) : "memory"); }
static inline void fence(void) { __asm__ volatile("sfence" ::: "memory"); }
static inline void persist(const void* address) {
  flush(address);
  fence();
}

static inline struct pool* map_pool(const char* path, int flags) {
  const int file = open(path, O_RDWR | flags, 0644);
  if (file < 0 || ((flags & O_CREAT) != 0 && ftruncate(file, kSize) != 0)) {
    perror(path);
    exit(2);
  }
  struct pool* pool = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (pool == MAP_FAILED) exit(2);
  return pool;
}

static inline void format(struct pool* pool) {
  if (pool->magic == kMagic) return;
  pool->magic = kMagic;
  persist(&pool->magic);
}

static inline void begin(uint64_t key) { powercut_mark_begin(POWERCUT_MARK_INSERT, &key, sizeof key, NULL, 0); }
static inline void end(void) { powercut_mark_end(0, NULL, 0); }

/* Counts one item more, durably. */
static inline void publish(struct pool* pool) {
  pool->count = pool->count + 1;
  persist(&pool->count);
}

/* An item: durable before it is counted, unless the bug is that it is not. */
static inline void insert(struct pool* pool, uint64_t key, int unflushed) {
  struct slot* slot = &pool->slots[pool->count];
  slot->key = key;
  slot->value = 100 * key;
  if (!unflushed) persist(slot);
  publish(pool);
}

static inline int whole(const struct pool* pool) {
  if (pool->magic == 0) return 1; /* not begun */
  if (pool->magic != kMagic || pool->count > kSlots) return 0;
  for (uint64_t i = 0; i < pool->count; ++i) {
    if (pool->slots[i].key == 0 || pool->slots[i].value != 100 * pool->slots[i].key) return 0;
  }
  return 1;
}

/* The command `run` of a program. */
int run(const char* path);
int check(const char* path);
int dump(const char* path);
#ifdef PAIR_IS_USED
int use(const char* path);
#endif

static inline int usual_run(const char* path) {
  struct pool* pool = map_pool(path, O_CREAT);
  format(pool);
  for (uint64_t key = 1; key <= 3; ++key) insert(pool, key, 0);
  return 0;
}
static inline int usual_check(const char* path) {
  if (whole(map_pool(path, 0))) return 0;
  fprintf(stderr, "an item is not whole\n");
  return 1;
}
static inline int usual_dump(const char* path) {
  const struct pool* pool = map_pool(path, 0);
  for (uint64_t i = 0; i < pool->count && i < kSlots; ++i) {
    printf("%lu=%lu\n", (unsigned long)pool->slots[i].key, (unsigned long)pool->slots[i].value);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (strcmp(argv[1], "run") == 0) return run(argv[2]);
  if (strcmp(argv[1], "check") == 0) return check(argv[2]);
#ifdef PAIR_IS_USED
  if (strcmp(argv[1], "use") == 0) return use(argv[2]);
#endif
  return dump(argv[2]);
}

#define USUAL_RUN \
  int run(const char* path) { return usual_run(path); }
#define USUAL_CHECK \
  int check(const char* path) { return usual_check(path); }
#define USUAL_DUMP \
  int dump(const char* path) { return usual_dump(path); }

#endif /* PAIR_H_ */

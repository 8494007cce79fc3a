// Shared by the programs of this folder: a pool of a page, its stores, and how they become durable.
// Each runs as `prog run POOL` and `prog check POOL`; with BUG it has the bug that its first line names.
#ifndef POOL_H_
#define POOL_H_

#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pool {
  uint64_t data, padding[7];
  uint64_t ack, padding_too[7];
};

__attribute__((target("clwb"))) static inline void persist(const void* at) {
  _mm_clwb((void*)at);
  _mm_sfence();
}

static inline void put(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
static inline uint64_t get(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

static inline void put_and_persist(uint64_t* word, uint64_t value) {
  put(word, value);
  persist(word);
}

static inline struct pool* open_pool(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT, 0644);
  if (fd < 0 || ftruncate(fd, 4096) != 0) exit(3);
  return (struct pool*)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

// True if the acknowledged data are there.
static inline int holds(const struct pool* pool) { return pool->ack == 0 || pool->data != 0; }

// The pool of the command line; `check` ends the program.
static inline struct pool* given_pool(int argc, char** argv) {
  if (argc != 3) exit(2);
  struct pool* pool = open_pool(argv[2]);
  if (strcmp(argv[1], "check") == 0) exit(!holds(pool));
  return pool;
}

#endif  // POOL_H_

// Call stacks: the innermost line is the store's, tail calls keep their caller, inlined functions are named.
#include <string.h>

#include "pool.h"

static inline __attribute__((always_inline)) void store_inlined(char* pool) { *AT(int, 4) = 2; }

__attribute__((noinline)) static void store_here(char* pool) {
  *AT(int, 0) = 1;
  store_inlined(pool);
}

__attribute__((noinline)) static void* copies_last(char* pool, size_t size) {
  return memcpy(pool + 64, "tail call", size);  // -O2 would jump
}

__attribute__((noinline)) static void calls_last(char* pool) { store_here(pool); }

void run(char* pool) {
  calls_last(pool);
  copies_last(pool, 9);
}

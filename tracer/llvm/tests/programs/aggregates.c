// Structures and arrays: copies, initialisers, results.
#include "pool.h"

struct item {
  long key, value;
  char name[8];
};
struct large {
  long words[20];
};

__attribute__((noinline)) static struct item make(long key) {
  struct item item = {key, key * 2, "abcdefg"};
  return item;
}

void run(char* pool) {
  static const struct item source = {1, 2, "source."};
  struct item* items = (struct item*)pool;
  items[0] = source;
  BARRIER();
  items[2] = items[0];
  BARRIER();
  *(volatile struct item*)&items[4] = make(9);
  BARRIER();
  struct large* larges = (struct large*)(pool + 1024);
  larges[0].words[19] = 7;
  BARRIER();
  larges[2] = larges[0];
  BARRIER();
}

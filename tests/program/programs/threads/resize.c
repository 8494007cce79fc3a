// Two threads insert into a table that one of them makes larger, with marked operations and a dump, as in P-CLHT.
// BUG: the larger table is used before it is durable that it is the table.
#include <powercut/mark.h>
#include <pthread.h>
#include <stdio.h>

#include "pool.h"

enum { kSmall = 2, kLarge = 4 };
struct item {
  uint64_t value, padding[7];  // 0: there is none
};
struct root {
  uint64_t large, padding[7];  // which of the tables it is
  struct item small_table[kSmall], large_table[kLarge];
};

static struct root* root;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct item* table(void) { return get(&root->large) != 0 ? root->large_table : root->small_table; }
static uint64_t size(void) { return get(&root->large) != 0 ? kLarge : kSmall; }

static void grow(void) {
  for (int i = 0; i < kSmall; ++i) put_and_persist(&root->large_table[i].value, root->small_table[i].value);
  put(&root->large, 1);
#ifdef BUG
  pthread_mutex_unlock(&mutex);
  persist(&root->large);
  pthread_mutex_lock(&mutex);
#else
  persist(&root->large);
#endif
}

static void insert(uint64_t key, uint64_t value) {
  powercut_mark_begin(POWERCUT_MARK_INSERT, &key, sizeof key, &value, sizeof value);
  pthread_mutex_lock(&mutex);
  if (key >= size()) grow();
  put_and_persist(&table()[key].value, value);
  pthread_mutex_unlock(&mutex);
  powercut_mark_end(0, 0, 0);
}

static void* two(void* argument) {
  insert(2, 20);
  return argument;
}

static void* three(void* argument) {
  insert(3, 30);
  return argument;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  root = (struct root*)open_pool(argv[2]);
  if (strcmp(argv[1], "check") == 0) return root->large > 1;
  if (strcmp(argv[1], "dump") == 0) {
    for (uint64_t i = 0; i < size(); ++i) {
      if (table()[i].value != 0) printf("%d %d\n", (int)i, (int)table()[i].value);
    }
    return 0;
  }
  insert(1, 10);
  pthread_t threads[2];
  pthread_create(&threads[0], 0, two, 0);
  pthread_create(&threads[1], 0, three, 0);
  pthread_join(threads[0], 0);
  return pthread_join(threads[1], 0);
}

// A marked operation that starts a thread, which has one of its own: in no order do they come one after the other.
#include <powercut/mark.h>
#include <pthread.h>
#include <stdio.h>

#include "pool.h"

static struct pool* pool;

static void insert(uint64_t key, uint64_t* word) {
  powercut_mark_begin(POWERCUT_MARK_INSERT, &key, sizeof key, 0, 0);
  put_and_persist(word, key);
  powercut_mark_end(0, 0, 0);
}

static void* two(void* argument) {
  insert(2, &pool->ack);
  return argument;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  pool = (struct pool*)open_pool(argv[2]);
  if (strcmp(argv[1], "check") == 0) return 0;
  if (strcmp(argv[1], "dump") == 0) return printf("%d %d\n", (int)pool->data, (int)pool->ack) < 0;
  const uint64_t key = 1;
  powercut_mark_begin(POWERCUT_MARK_INSERT, &key, sizeof key, 0, 0);
  pthread_t thread;
  pthread_create(&thread, 0, two, 0);
  pthread_join(thread, 0);
  put_and_persist(&pool->data, key);
  powercut_mark_end(0, 0, 0);
  return 0;
}

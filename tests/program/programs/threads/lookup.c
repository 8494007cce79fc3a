// A lookup beside an update, whose marks tell the lookup's answer. BUG: the answer is not durable yet.
#include <powercut/mark.h>
#include <pthread.h>
#include <stdio.h>

#include "pool.h"

static struct pool* pool;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const uint64_t key = 7;

static void update(uint64_t value) {
  powercut_mark_begin(POWERCUT_MARK_UPDATE, &key, sizeof key, &value, sizeof value);
  pthread_mutex_lock(&mutex);
  put_and_persist(&pool->data, value);
  pthread_mutex_unlock(&mutex);
  powercut_mark_end(0, 0, 0);
}

static void* looks_up(void* argument) {
  powercut_mark_begin(POWERCUT_MARK_LOOKUP, &key, sizeof key, 0, 0);
#ifndef BUG
  pthread_mutex_lock(&mutex);
#endif
  const uint64_t value = get(&pool->data);
#ifndef BUG
  pthread_mutex_unlock(&mutex);
#endif
  powercut_mark_end(0, &value, sizeof value);
  return argument;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  pool = (struct pool*)open_pool(argv[2]);
  if (strcmp(argv[1], "check") == 0) return 0;
  if (strcmp(argv[1], "dump") == 0) return printf("%d\n", (int)pool->data) < 0;
  update(1);
  pthread_t reader;
  pthread_create(&reader, 0, looks_up, 0);
  update(2);
  return pthread_join(reader, 0);
}

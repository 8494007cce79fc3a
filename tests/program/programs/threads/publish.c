// pthread, atomics. BUG: a writer publishes its item before it is durable, beside a reader that acknowledges it.
#include <pthread.h>

#include "pool.h"

static struct pool* pool;
static uint64_t published;

static void* writer(void* argument) {
  put(&pool->data, 7);
#ifndef BUG
  persist(&pool->data);
#endif
  put(&published, 1);
  persist(&pool->data);
  return argument;
}

static void* reader(void* argument) {
  if (get(&published)) put_and_persist(&pool->ack, 1);
  return argument;
}

int main(int argc, char** argv) {
  pool = given_pool(argc, argv);
  pthread_t threads[2];
  void* answer = 0;
  pthread_create(&threads[0], 0, writer, &pool);
  pthread_create(&threads[1], 0, reader, 0);
  if (pthread_join(threads[0], &answer) != 0 || answer != &pool) return 4;
  return pthread_join(threads[1], 0);
}

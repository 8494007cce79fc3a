// pthread_mutex. BUG: one thread looks at a pointer, and uses it after another one has taken it away.
#include <pthread.h>

#include "pool.h"

static struct pool* pool;
static uint64_t item = 7;
static uint64_t* shown = &item;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* taker(void* argument) {
  pthread_mutex_lock(&mutex);
  __atomic_store_n(&shown, 0, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&mutex);
  return argument;
}

static void* user(void* argument) {
#ifndef BUG
  pthread_mutex_lock(&mutex);
#endif
  if (__atomic_load_n(&shown, __ATOMIC_ACQUIRE) != 0) {
    put_and_persist(&pool->data, *__atomic_load_n(&shown, __ATOMIC_ACQUIRE));
  }
#ifndef BUG
  pthread_mutex_unlock(&mutex);
#endif
  return argument;
}

int main(int argc, char** argv) {
  pool = given_pool(argc, argv);
  pthread_t threads[2];
  pthread_create(&threads[0], 0, user, 0);
  pthread_create(&threads[1], 0, taker, 0);
  pthread_join(threads[0], 0);
  return pthread_join(threads[1], 0);
}

// flags: -pthread
// Threads are numbered in the order of their first event; each one's start and end are events.
#include <pthread.h>

#include "pool.h"

static void* first(void* argument) {
  char* pool = argument;
  *AT(int, 64) = 1;
  __asm__ volatile("sfence" ::: "memory");
  return 0;
}

static void* second(void* argument) {
  char* pool = argument;
  *AT(int, 128) = 2;
  return 0;
}

void run(char* pool) {
  pthread_t thread;
  *AT(int, 0) = 0;
  if (pthread_create(&thread, 0, first, pool) != 0) return;
  pthread_join(thread, 0);
  *AT(int, 4) = 3;
  if (pthread_create(&thread, 0, second, pool) != 0) return;
  pthread_join(thread, 0);
}

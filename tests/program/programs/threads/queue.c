// Marked operations of two threads under a mutex, and a dump. BUG: the tail is made durable before the slot.
#include <powercut/mark.h>
#include <pthread.h>
#include <stdio.h>

#include "pool.h"

enum { kSlots = 4 };
struct queue {
  uint64_t tail, padding[7];
  struct {
    uint64_t item, padding[7];
  } slots[kSlots];
};

static struct queue* queue;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void append(uint64_t item) {
  pthread_mutex_lock(&mutex);
  powercut_mark_begin(POWERCUT_MARK_INSERT, &item, sizeof item, 0, 0);
  const uint64_t tail = queue->tail;
  put(&queue->slots[tail].item, item);
#ifndef BUG
  persist(&queue->slots[tail].item);
#endif
  put_and_persist(&queue->tail, tail + 1);
  persist(&queue->slots[tail].item);
  powercut_mark_end(0, 0, 0);
  pthread_mutex_unlock(&mutex);
}

static void* one(void* argument) {
  append(1);
  return argument;
}

static void* two(void* argument) {
  append(2);
  return argument;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  queue = (struct queue*)open_pool(argv[2]);
  if (strcmp(argv[1], "check") == 0) return queue->tail > kSlots;
  if (strcmp(argv[1], "dump") == 0) {
    for (uint64_t i = 0; i < queue->tail; ++i) printf("%d\n", (int)queue->slots[i].item);
    return 0;
  }
  pthread_t threads[2];
  pthread_create(&threads[0], 0, one, 0);
  pthread_create(&threads[1], 0, two, 0);
  pthread_join(threads[0], 0);
  return pthread_join(threads[1], 0);
}

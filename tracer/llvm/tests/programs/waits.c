// flags: -pthread
// Locks of C11 are fences as those of pthread are. Other calls that wait, or make others wait, are no events. Each call
// does what the C library does.
#include <emmintrin.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#include "pool.h"

static void call(void) {}

static int one_thread(void* argument) {
  char* pool = argument;
  *AT(int, 64) = 1;
  return 7;
}

void run(char* pool) {
  mtx_t mutex;
  cnd_t condition;
  sem_t semaphore;
  pthread_barrier_t barrier;
  once_flag once = ONCE_FLAG_INIT;
  struct timespec past = {0, 0}, nanosecond = {0, 1};
  mtx_init(&mutex, mtx_plain);
  cnd_init(&condition);
  sem_init(&semaphore, 0, 0);
  pthread_barrier_init(&barrier, 0, 1);

  mtx_lock(&mutex);
  *AT(int, 0) = cnd_timedwait(&condition, &mutex, &past) == thrd_timedout;
  mtx_unlock(&mutex);
  cnd_signal(&condition);

  _mm_pause();
  __asm__ volatile("rep; nop" ::: "memory");
  sched_yield();
  nanosleep(&nanosecond, 0);
  sem_post(&semaphore);
  sem_wait(&semaphore);
  *AT(int, 4) = sem_trywait(&semaphore);
  *AT(int, 8) = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  call_once(&once, call);

  thrd_t thread;
  int result = 0;
  if (thrd_create(&thread, one_thread, pool) != thrd_success) return;
  thrd_join(thread, &result);
  *AT(int, 12) = result;
}

// Locks of pthread are fences; unlocking a spin lock is a plain store.
#include <pthread.h>
#include <time.h>

#include "pool.h"

void run(char* pool) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_spinlock_t spin;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);

  pthread_mutex_lock(&mutex);
  *AT(int, 0) = 1;
  pthread_mutex_unlock(&mutex);
  pthread_mutex_trylock(&mutex);
  pthread_mutex_trylock(&mutex);  // fails, with a locked instruction all the same
  struct timespec past = {0, 0};
  pthread_cond_timedwait(&condition, &mutex, &past);
  pthread_mutex_unlock(&mutex);

  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_trywrlock(&rwlock);  // fails, and may not have tried
  pthread_rwlock_unlock(&rwlock);
  pthread_rwlock_wrlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);

  pthread_spin_lock(&spin);
  pthread_spin_unlock(&spin);
  *AT(int, 4) = 2;
}
